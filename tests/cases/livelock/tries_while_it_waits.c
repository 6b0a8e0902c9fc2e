// compilers: gcc
// check:
// verdict: verified
// most-runs: 20
// flags: -O0
// check:
// verdict: verified
// most-runs: 20
// flags: -O2

// The loop counts its rounds, and nothing reads the count.
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int done;
static int value;

static void *waits(void *unused)
{
    int tries = 0;
    while (!atomic_load(&done)) {
        tries++;
        sched_yield();
    }
    assert(value == 42);
    return unused;
}

int main(void)
{
    pthread_t waiters[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&waiters[i], NULL, waits, NULL);
    value = 42;
    atomic_store(&done, 1);
    for (int i = 0; i < 2; i++)
        pthread_join(waiters[i], NULL);
    return 0;
}
