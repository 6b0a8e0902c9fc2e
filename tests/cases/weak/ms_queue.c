// check: --memory rc11
// verdict: verified
// check: --memory tso
// verdict: verified
// check: --memory rc11
// flags: -DPUBLISH=memory_order_relaxed
// verdict: bug
// finding: data-race
// findings: at-least

// The queue of Michael and Scott (PODC 1996): one thread puts two values in, main one, and takes one out that may be
// there. PUBLISH: a node is linked without publishing what is in it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef PUBLISH
#define PUBLISH memory_order_release
#endif

struct node {
    int value;
    _Atomic(struct node *) next;
};

static struct node nodes[3];
static _Atomic(struct node *) head = &nodes[0], tail = &nodes[0];

static void put(struct node *node, int value) {
    node->value = value;
    for (;;) {
        struct node *last = atomic_load_explicit(&tail, memory_order_acquire);
        struct node *next = atomic_load_explicit(&last->next, memory_order_acquire);
        if (next != NULL) {
            atomic_compare_exchange_strong_explicit(&tail, &last, next, memory_order_release, memory_order_relaxed);
        } else if (atomic_compare_exchange_strong_explicit(&last->next, &next, node, PUBLISH, memory_order_relaxed)) {
            atomic_compare_exchange_strong_explicit(&tail, &last, node, memory_order_release, memory_order_relaxed);
            return;
        }
    }
}

static int take(void) {
    for (;;) {
        struct node *first = atomic_load_explicit(&head, memory_order_acquire);
        struct node *last = atomic_load_explicit(&tail, memory_order_relaxed);
        struct node *next = atomic_load_explicit(&first->next, memory_order_acquire);
        if (next == NULL)
            return 0;
        if (first == last)
            atomic_compare_exchange_strong_explicit(&tail, &last, next, memory_order_release, memory_order_relaxed);
        int value = next->value;
        if (atomic_compare_exchange_strong_explicit(&head, &first, next, memory_order_release, memory_order_relaxed))
            return value;
    }
}

static void *producer(void *arg) {
    put(&nodes[1], 1);
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, producer, NULL);
    put(&nodes[2], 2);
    int one = take();
    assert(one == 1 || one == 2);
    pthread_join(thread, NULL);
    int other = take();
    assert(one + other == 3);
    assert(take() == 0);
    return 0;
}
