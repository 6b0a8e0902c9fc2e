// compilers: gcc clang
// check:
// verdict: bug
// executions: 2
// finding: assertion detail=assert
//
// Handlers run in the reverse order of their registration, so the order of two registrations
// matters.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static int closed;

static void flush(void)
{
    assert(!closed);
}

static void close_all(void)
{
    closed = 1;
}

static void *set_up(void *unused)
{
    (void)unused;
    atexit(flush);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, set_up, NULL);
    atexit(close_all);
    pthread_join(thread, NULL);
    return 0;
}
