// check:
// verdict: bug
// finding: crash detail=SIGILL line=22

// A compiler trap, on a path that only one order takes.
#include <pthread.h>
#include <stdatomic.h>

atomic_int x;

static void *store(void *arg)
{
    atomic_store(&x, 1);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, store, NULL);
    if (atomic_load(&x) == 1)
        __builtin_trap();
    pthread_join(t, NULL);
    return 0;
}
