// compilers: gcc clang
// check:
// verdict: incomplete
// check:
// flags: -DALONE
// verdict: incomplete
//
// A thread waits for a connection while the others run. What another process does with a socket is
// not known: a server that waits alone is no deadlock.
#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

static struct sockaddr_in address = {.sin_family = AF_INET};

static void *call(void *unused)
{
    (void)unused;
    int client = socket(AF_INET, SOCK_STREAM, 0);
    assert(connect(client, (struct sockaddr *)&address, sizeof address) == 0);
    assert(write(client, "x", 1) == 1);
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
