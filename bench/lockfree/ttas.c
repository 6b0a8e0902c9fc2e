// A lock whose waiters read before they exchange (test and test-and-set), taken by N threads.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 4
#endif

static atomic_int locked;
static int counter;

static void acquire(void)
{
    for (;;) {
        while (atomic_load_explicit(&locked, memory_order_relaxed) != 0)
            ;
        if (atomic_exchange_explicit(&locked, 1, memory_order_acquire) == 0)
            return;
    }
}

static void *enter(void *arg)
{
    acquire();
    counter++;
    atomic_store_explicit(&locked, 0, memory_order_release);
    return arg;
}

int main(void)
{
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, enter, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert(counter == N);
    return 0;
}
