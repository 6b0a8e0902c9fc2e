// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion detail=assert line=35
// check: --strategy optimal
// verdict: bug
// executions: 2
// finding: assertion detail=assert line=35

// MSG_DONTWAIT: the receiver does not wait for the sender. Sending and receiving come in two orders
// and in one of them nothing is there to receive.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>

static int ends[2];

static void *sender(void *arg)
{
    send(ends[1], "x", 1, 0);
    return arg;
}

int main(void)
{
    pthread_t thread;
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
        return 1;
    pthread_create(&thread, NULL, sender, NULL);
    ssize_t got = recv(ends[0], &byte, 1, MSG_DONTWAIT);
    assert(got == 1 || errno == EAGAIN);
    assert(got == 1);
    pthread_join(thread, NULL);
    return 0;
}
