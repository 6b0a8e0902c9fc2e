// Treiber's stack: W threads push, R threads pop. Nodes are not used again.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef W
#define W 3
#endif
#ifndef R
#define R 2
#endif

struct node {
    int value;
    struct node *below;
};

static struct node nodes[W];
static _Atomic(struct node *) top;
static int taken[R];

static void *push(void *arg)
{
    size_t number = (size_t)arg;
    struct node *node = &nodes[number];
    node->value = 1 + (int)number;
    struct node *now = atomic_load_explicit(&top, memory_order_acquire);
    do
        node->below = now;
    while (!atomic_compare_exchange_strong_explicit(&top, &now, node, memory_order_acq_rel, memory_order_acquire));
    return NULL;
}

static void *pop(void *arg)
{
    struct node *now = atomic_load_explicit(&top, memory_order_acquire);
    do {
        if (now == NULL)
            return NULL;
    } while (!atomic_compare_exchange_strong_explicit(&top, &now, now->below, memory_order_acq_rel,
                                                      memory_order_acquire));
    taken[(size_t)arg] = now->value;
    return NULL;
}

int main(void)
{
    pthread_t threads[W + R];
    for (size_t i = 0; i < W + R; i++)
        pthread_create(&threads[i], NULL, i < W ? push : pop, (void *)(i < W ? i : i - W));
    for (size_t i = 0; i < W + R; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < R; i++) {
        assert(taken[i] >= 0 && taken[i] <= W);
        for (int j = 0; j < i; j++)
            assert(taken[i] == 0 || taken[i] != taken[j]);
    }
    return 0;
}
