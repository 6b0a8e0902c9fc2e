// A sequence lock: W writers take it, R readers look again while a writer was there.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef W
#define W 2
#endif
#ifndef R
#define R 2
#endif

static atomic_uint sequence;
static atomic_int one, two;

static void *writer(void *arg)
{
    unsigned now;
    for (;;) {
        while ((now = atomic_load(&sequence)) & 1)
            ;
        if (atomic_compare_exchange_strong(&sequence, &now, now + 1))
            break;
    }
    int next = atomic_load(&one) + 1;
    atomic_store(&one, next);
    atomic_store(&two, next);
    atomic_store(&sequence, now + 2);
    return arg;
}

static void *reader(void *arg)
{
    unsigned before;
    int first, second;
    do {
        while ((before = atomic_load(&sequence)) & 1)
            ;
        first = atomic_load(&one);
        second = atomic_load(&two);
    } while (atomic_load(&sequence) != before);
    assert(first == second);
    return arg;
}

int main(void)
{
    pthread_t threads[W + R];
    for (int i = 0; i < W + R; i++)
        pthread_create(&threads[i], NULL, i < W ? writer : reader, NULL);
    for (int i = 0; i < W + R; i++)
        pthread_join(threads[i], NULL);
    assert(atomic_load(&one) == W && atomic_load(&two) == W);
    return 0;
}
