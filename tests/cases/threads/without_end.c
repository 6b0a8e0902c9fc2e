// check:
// verdict: bug
// findings: at-least
// finding: assertion detail=assert

// The program creates threads without end, more than can be followed. Samples show its bug.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int inside;

static void *enters(void *arg)
{
    int others = atomic_fetch_add(&inside, 1);
    assert(others == 0);
    atomic_fetch_sub(&inside, 1);
    return arg;
}

int main(void)
{
    for (;;) {
        pthread_t thread;
        pthread_create(&thread, 0, enters, 0);
        pthread_detach(thread);
    }
}
