// compilers: gcc clang
// check: --max-executions 5
// flags: -O0
// verdict: incomplete
// check: --strategy random --max-executions 5
// flags: -O2
// verdict: incomplete

// A thread that polls a pipe without waiting. Every number of failed polls is a trace of its own.
// The thread is left after a while, so that another thread can
// write.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

static int ends[2];

static void *send(void *arg)
{
    assert(write(ends[1], "x", 1) == 1);
    return arg;
}

int main(void)
{
    assert(pipe(ends) == 0);
    pthread_t sender;
    pthread_create(&sender, NULL, send, NULL);
    struct pollfd entry = { ends[0], POLLIN, 0 };
    while (poll(&entry, 1, 0) == 0)
        ;
    char byte;
    assert(read(ends[0], &byte, 1) == 1);
    pthread_join(sender, NULL);
    return 0;
}
