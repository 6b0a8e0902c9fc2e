// compilers: gcc clang
// check:
// verdict: verified
// most-runs: 20
// flags: -O0
// check:
// verdict: verified
// most-runs: 20
// flags: -O2

// In each round of its loop the thread writes what is there already, to memory that only it uses. A round like
// the one before has no effect.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int done;
static int value;
static _Thread_local volatile int state;

static void *waits(void *unused)
{
    volatile int *mark = malloc(sizeof *mark);
    *mark = 0;
    while (!atomic_load(&done)) {
        state = 1;
        *mark = state;
    }
    free((void *)mark);
    assert(value == 42);
    return unused;
}

int main(void)
{
    pthread_t waiter;
    pthread_create(&waiter, NULL, waits, NULL);
    value = 42;
    atomic_store(&done, 1);
    pthread_join(waiter, NULL);
    return 0;
}
