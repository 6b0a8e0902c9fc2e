// A queue lock whose waiters spin on the node of the thread before them (CLH), taken by N threads.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 4
#endif

struct node {
    atomic_int is_held;
};

static struct node nodes[N + 1];
static _Atomic(struct node *) tail = &nodes[N];
static int counter;

static void *enter(void *arg)
{
    struct node *mine = arg;
    atomic_store_explicit(&mine->is_held, 1, memory_order_relaxed);
    struct node *before = atomic_exchange_explicit(&tail, mine, memory_order_acq_rel);
    while (atomic_load_explicit(&before->is_held, memory_order_acquire))
        ;
    counter++;
    atomic_store_explicit(&mine->is_held, 0, memory_order_release);
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
