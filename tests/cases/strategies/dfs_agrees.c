// check: --strategy dfs
// verdict: verified
// check: --strategy dpor
// verdict: verified
// executions: 3
// check: --strategy optimal
// verdict: verified
// executions: 3
// blocked: 0

// Brute force meets the same traces, each many times.
#include <pthread.h>
#include <stdatomic.h>

atomic_int x, y;

static void *left(void *arg)
{
    atomic_store(&x, 1);
    return atomic_load(&y) > 1 ? arg : NULL;
}

static void *right(void *arg)
{
    atomic_store(&y, 1);
    return atomic_load(&x) > 1 ? arg : NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, left, NULL);
    pthread_create(&b, NULL, right, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
