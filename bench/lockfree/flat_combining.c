// Flat combining: N threads publish an addition each, and the one that gets the lock makes all that it finds.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 3
#endif

static atomic_int requests[N], locked;
static int sum;

static void combine(void)
{
    for (int i = 0; i < N; i++) {
        int amount = atomic_load_explicit(&requests[i], memory_order_acquire);
        if (amount != 0) {
            sum += amount;
            atomic_store_explicit(&requests[i], 0, memory_order_release);
        }
    }
}

static void *add(void *arg)
{
    size_t mine = (size_t)arg;
    atomic_store_explicit(&requests[mine], 1 + (int)mine, memory_order_release);
    for (;;) {
        if (atomic_load_explicit(&requests[mine], memory_order_acquire) == 0)
            return NULL;
        if (atomic_exchange_explicit(&locked, 1, memory_order_acquire) == 0) {
            combine();
            atomic_store_explicit(&locked, 0, memory_order_release);
            return NULL;
        }
    }
}

int main(void)
{
    pthread_t threads[N];
    for (size_t i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, add, (void *)i);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert(sum == N * (N + 1) / 2);
    return 0;
}
