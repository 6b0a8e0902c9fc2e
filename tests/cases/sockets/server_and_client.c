// compilers: gcc clang
// check: --self-check 10
// verdict: verified
// check: --strategy dfs
// verdict: verified
// check: --strategy stateful
// verdict: verified
// check: --strategy dpor
// verdict: verified
// check:
// flags: -DALONE
// verdict: bug
// finding: deadlock detail=all-blocked
// check:
// flags: -DSILENT
// verdict: bug
// finding: deadlock detail=all-blocked
// check:
// flags: -DRACE
// verdict: bug
// finding: data-race var=shared

// A thread waits for a connection while the others run. ALONE: no thread connects. SILENT: both ends wait
// for the other to begin. RACE: what the client writes behind its message is not ordered with what the
// server reads.
#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in address = {.sin_family = AF_INET};

static int shared;

static void *call(void *unused)
{
    (void)unused;
    char byte;
    (void)byte;
    int client = socket(AF_INET, SOCK_STREAM, 0);
    assert(connect(client, (struct sockaddr *)&address, sizeof address) == 0);
#ifdef SILENT
    assert(read(client, &byte, 1) == 1);
#endif
#ifndef RACE
    shared = 1;
#endif
    assert(write(client, "x", 1) == 1);
#ifdef RACE
    shared = 1;
#endif
    close(client);
    return NULL;
}

int main(void)
{
    socklen_t length = sizeof address;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert(bind(server, (struct sockaddr *)&address, sizeof address) == 0);
    assert(getsockname(server, (struct sockaddr *)&address, &length) == 0);
    assert(listen(server, 1) == 0);
    pthread_t thread;
#ifndef ALONE
    pthread_create(&thread, NULL, call, NULL);
#endif
    int connection = accept(server, NULL, NULL);
    char byte;
    assert(read(connection, &byte, 1) == 1 && byte == 'x');
    assert(shared <= 1);
#ifndef ALONE
    pthread_join(thread, NULL);
#else
    (void)thread;
    (void)call;
#endif
    close(connection);
    close(server);
    return 0;
}
