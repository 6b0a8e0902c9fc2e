// compilers: gcc
// check:
// verdict: bug
// finding: livelock detail=spin

// The thread allocates and writes in each round, and waits for what does not come.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int done, started;
static _Thread_local volatile int state;

static void *waits(void *unused)
{
    atomic_store(&started, 1);
    while (!atomic_load(&done)) {
        char *volatile block = malloc(40);
        block[0] = 1;
        state = 1;
        free(block);
    }
    return unused;
}

int main(void)
{
    pthread_t waiter;
    pthread_create(&waiter, NULL, waits, NULL);
    if (atomic_load(&started))
        atomic_store(&done, 1);
    pthread_join(waiter, NULL);
    return 0;
}
