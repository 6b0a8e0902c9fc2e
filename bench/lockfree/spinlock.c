// A lock that is taken by compare-exchange, by N threads.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 5
#endif

static atomic_int locked;
static int counter;

static void acquire(void)
{
    int free = 0;
    while (!atomic_compare_exchange_strong(&locked, &free, 1))
        free = 0;
}

static void *enter(void *arg)
{
    acquire();
    counter++;
    atomic_store(&locked, 0);
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
