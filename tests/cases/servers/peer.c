// check: --peer tcp:192.0.2.7:2525=HERE/greet.script
// verdict: verified
// executions: 1
// check: --peer tcp:mail.example:2525=HERE/greet.script
// flags: -DBY_NAME
// verdict: verified
// executions: 1
// check: --peer tcp:192.0.2.7:2525=HERE/greet.script
// flags: -DTWICE
// verdict: bug
// finding: assertion detail=assert
// check: --peer tcp:192.0.2.7:2525=HERE/greet.script --peer tcp:192.0.2.7:2525=HERE/greet.script
// flags: -DTWICE
// verdict: verified
// executions: 1
// check: --peer tcp:192.0.2.7:2525=HERE/greet.script
// flags: -DRUDE
// verdict: bug
// finding: assertion detail=script line=4
// check: --peer tcp:192.0.2.7:2525=HERE/greet.script
// flags: -DSILENT
// verdict: bug
// finding: deadlock detail=all-blocked line=2
// check: --peer tcp:192.0.2.7:2526=HERE/greet.script --peer tcp:192.0.2.7:2525=HERE/greet.script
// verdict: verified
// executions: 1

// A program that connects to another machine, by its address or by its name. One thread alone: all that it
// and the peer do is ordered by what they wait for. TWICE: it connects again; a script is for one
// connection, so a second one is refused without a second script. RUDE: it ends without a word, which the
// peer expects. SILENT: it waits for a greeting that the peer sends only when it was greeted. A peer that
// the program does not connect to is no reason to complain.
#include <arpa/inet.h>
#include <assert.h>
#include <netdb.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef BY_NAME
#define HOST "mail.example"
#else
#define HOST "192.0.2.7"
#endif

static void say(int connection, const char *text)
{
    assert(write(connection, text, strlen(text)) == (ssize_t)strlen(text));
}

static void talk(void)
{
    struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *found = NULL;
    char text[64];
    assert(getaddrinfo(HOST, "2525", &hints, &found) == 0);
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    assert(connect(connection, found->ai_addr, found->ai_addrlen) == 0);
    freeaddrinfo(found);
#ifndef SILENT
    say(connection, "HELO me\r\n");
#endif
    assert(read(connection, text, sizeof text) == 11 && memcmp(text, "250 hello\r\n", 11) == 0);
#ifndef RUDE
    say(connection, "QUIT\r\n");
    assert(read(connection, text, sizeof text) == 0);
#endif
    close(connection);
}

int main(void)
{
    talk();
#ifdef TWICE
    talk();
#endif
    return 0;
}
