// check:
// verdict: bug
// finding: assertion detail=assert line=16

// An atexit handler is an ordinary operation of the exiting thread; what it finds depends on the
// schedule.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

atomic_int finished;

static void at_end(void)
{
    assert(atomic_load(&finished));
}

static void *work(void *arg)
{
    atomic_store(&finished, 1);
    return NULL;
}

int main(void)
{
    pthread_t t;
    atexit(at_end);
    pthread_create(&t, NULL, work, NULL);
    pthread_detach(t);
    exit(0);
}
