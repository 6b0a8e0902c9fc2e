// The queue of Michael and Scott: W threads put, R threads take. Nodes are not used again.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef W
#define W 2
#endif
#ifndef R
#define R 2
#endif

struct node {
    int value;
    _Atomic(struct node *) next;
};

static struct node nodes[W + 1];
static _Atomic(struct node *) head = &nodes[W], tail = &nodes[W];
static int taken[R];

static void put(struct node *node, int value)
{
    node->value = value;
    struct node *last;
    for (;;) {
        last = atomic_load(&tail);
        struct node *next = atomic_load(&last->next);
        if (last != atomic_load(&tail))
            continue;
        if (next != NULL) {
            atomic_compare_exchange_strong(&tail, &last, next);
            continue;
        }
        if (atomic_compare_exchange_strong(&last->next, &next, node))
            break;
    }
    atomic_compare_exchange_strong(&tail, &last, node);
}

static int take(void)
{
    for (;;) {
        struct node *first = atomic_load(&head);
        struct node *last = atomic_load(&tail);
        struct node *next = atomic_load(&first->next);
        if (first != atomic_load(&head))
            continue;
        if (first == last) {
            if (next == NULL)
                return 0;
            atomic_compare_exchange_strong(&tail, &last, next);
            continue;
        }
        int value = next->value;
        if (atomic_compare_exchange_strong(&head, &first, next))
            return value;
    }
}

static void *writer(void *arg)
{
    size_t number = (size_t)arg;
    put(&nodes[number], 1 + (int)number);
    return NULL;
}

static void *reader(void *arg)
{
    taken[(size_t)arg] = take();
    return NULL;
}

int main(void)
{
    pthread_t threads[W + R];
    for (size_t i = 0; i < W + R; i++)
        pthread_create(&threads[i], NULL, i < W ? writer : reader, (void *)(i < W ? i : i - W));
    for (size_t i = 0; i < W + R; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < R; i++) {
        assert(taken[i] >= 0 && taken[i] <= W);
        for (int j = 0; j < i; j++)
            assert(taken[i] == 0 || taken[i] != taken[j]);
    }
    return 0;
}
