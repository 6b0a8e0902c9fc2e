// check:
// flags: -DN=2
// verdict: verified
// executions: 4
// blocked: 0
// check:
// flags: -DN=13
// verdict: verified
// executions: 8192
// blocked: 0
// check: --strategy dpor
// flags: -DN=5
// verdict: verified
// executions: 32

// One writer and N readers of one atomic: each reader sees the old or the new value, 2^N.
#include <pthread.h>
#include <stdatomic.h>

atomic_int x;

static void *write_it(void *arg)
{
    atomic_store(&x, 1);
    return NULL;
}

static void *read_it(void *arg)
{
    (void)atomic_load(&x);
    return NULL;
}

int main(void)
{
    pthread_t t[N + 1];
    pthread_create(&t[0], NULL, write_it, NULL);
    for (int i = 1; i <= N; i++)
        pthread_create(&t[i], NULL, read_it, NULL);
    for (int i = 0; i <= N; i++)
        pthread_join(t[i], NULL);
    return 0;
}
