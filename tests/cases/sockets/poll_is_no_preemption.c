// compilers: gcc clang
// check: --preemptions 0
// verdict: incomplete
// executions: 1
// check: --preemptions 0 --strategy dfs
// verdict: incomplete
// executions: 1
// check:
// verdict: verified

// A thread that waits for one of two descriptors is not preempted: others have to run.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static int first[2], second[2];

static void *writes(void *arg)
{
    assert(write(second[1], "x", 1) == 1);
    return arg;
}

int main(void)
{
    pthread_t thread;
    char byte;
    assert(pipe(first) == 0 && pipe(second) == 0);
    pthread_create(&thread, NULL, writes, NULL);
    struct pollfd both[] = {{.fd = first[0], .events = POLLIN}, {.fd = second[0], .events = POLLIN}};
    assert(poll(both, 2, -1) == 1 && both[1].revents == POLLIN);
    assert(read(second[0], &byte, 1) == 1);
    pthread_join(thread, NULL);
    return 0;
}
