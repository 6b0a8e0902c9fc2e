// A queue lock whose waiters spin on their own node (MCS), taken by N threads.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef N
#define N 4
#endif

struct node {
    _Atomic(struct node *) next;
    atomic_int must_wait;
};

static struct node nodes[N];
static _Atomic(struct node *) tail;
static int counter;

static void acquire(struct node *mine)
{
    atomic_store_explicit(&mine->next, NULL, memory_order_relaxed);
    atomic_store_explicit(&mine->must_wait, 1, memory_order_relaxed);
    struct node *before = atomic_exchange_explicit(&tail, mine, memory_order_acq_rel);
    if (before == NULL)
        return;
    atomic_store_explicit(&before->next, mine, memory_order_release);
    while (atomic_load_explicit(&mine->must_wait, memory_order_acquire))
        ;
}

static void release(struct node *mine)
{
    struct node *after = atomic_load_explicit(&mine->next, memory_order_acquire);
    if (after == NULL) {
        struct node *last = mine;
        if (atomic_compare_exchange_strong_explicit(&tail, &last, NULL, memory_order_acq_rel, memory_order_acquire))
            return;
        while ((after = atomic_load_explicit(&mine->next, memory_order_acquire)) == NULL)
            ;
    }
    atomic_store_explicit(&after->must_wait, 0, memory_order_release);
}

static void *enter(void *arg)
{
    struct node *mine = arg;
    acquire(mine);
    counter++;
    release(mine);
    return NULL;
}

int main(void)
{
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, enter, &nodes[i]);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert(counter == N);
    return 0;
}
