// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion
// flags: -O0

// The same, but the count matters in the end.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int done;

static void *waits(void *unused)
{
    int tries = 0;
    while (!atomic_load(&done))
        if (++tries == 3)
            break;
    assert(tries < 3);
    return unused;
}

int main(void)
{
    pthread_t waiter;
    pthread_create(&waiter, NULL, waits, NULL);
    atomic_store(&done, 1);
    pthread_join(waiter, NULL);
    return 0;
}
