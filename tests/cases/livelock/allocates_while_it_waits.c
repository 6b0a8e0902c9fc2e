// compilers: gcc
// check:
// verdict: verified
// most-runs: 20
// flags: -O0
// check:
// verdict: verified
// most-runs: 20
// flags: -O2

// In each round of its loop the thread allocates blocks and frees them, in another order.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int done;
static int value;

static void *waits(void *unused)
{
    while (!atomic_load(&done)) {
        char *volatile name = strdup("not yet");
        char *volatile zeros = calloc(3, 7);
        assert(name && zeros && zeros[20] == 0);
        memset(zeros, 1, 21);
        free(name);
        free(zeros);
        sched_yield();
    }
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
