// Hazard pointers: W threads replace a node and free the old one when no reader protects it, R threads read it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifndef W
#define W 1
#endif
#ifndef R
#define R 2
#endif

struct node {
    int value;
};

static _Atomic(struct node *) current, hazards[R];

static struct node *make(int value)
{
    struct node *node = malloc(sizeof *node);
    node->value = value;
    return node;
}

static void *reader(void *arg)
{
    _Atomic(struct node *) *hazard = &hazards[(size_t)arg];
    struct node *node;
    do {
        node = atomic_load(&current);
        atomic_store(hazard, node);
    } while (node != atomic_load(&current));
    assert(node->value >= 1 && node->value <= W + 1);
    atomic_store(hazard, NULL);
    return NULL;
}

static void *writer(void *arg)
{
    struct node *old = atomic_exchange(&current, make(2 + (int)(size_t)arg));
    for (int i = 0; i < R; i++)
        while (atomic_load(&hazards[i]) == old)
            ;
    free(old);
    return NULL;
}

int main(void)
{
    pthread_t threads[W + R];
    atomic_store(&current, make(1));
    for (size_t i = 0; i < W + R; i++)
        pthread_create(&threads[i], NULL, i < W ? writer : reader, (void *)(i < W ? i : i - W));
    for (size_t i = 0; i < W + R; i++)
        pthread_join(threads[i], NULL);
    free(atomic_load(&current));
    return 0;
}
