// Readers take two values and look again whether the first is still there; W writers change both. R readers.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef W
#define W 3
#endif
#ifndef R
#define R 2
#endif

static atomic_int version, copy;

static void *writer(void *arg)
{
    int mine = atomic_fetch_add(&version, 1) + 1;
    int before = atomic_load(&copy);
    while (before < mine && !atomic_compare_exchange_strong(&copy, &before, mine))
        ;
    return arg;
}

static void *reader(void *arg)
{
    int first, second;
    do {
        first = atomic_load(&version);
        second = atomic_load(&copy);
    } while (atomic_load(&version) != first);
    assert(second <= first && first <= W);
    return arg;
}

int main(void)
{
    pthread_t threads[W + R];
    for (int i = 0; i < W + R; i++)
        pthread_create(&threads[i], NULL, i < W ? writer : reader, NULL);
    for (int i = 0; i < W + R; i++)
        pthread_join(threads[i], NULL);
    assert(atomic_load(&copy) == W);
    return 0;
}
