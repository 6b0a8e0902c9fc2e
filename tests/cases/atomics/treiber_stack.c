// check:
// verdict: verified

// Two threads push a node each on a lock-free stack; nothing is lost.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct node {
    struct node *next;
    int value;
};

struct node *_Atomic top;
struct node nodes[2];

static void *push(void *arg)
{
    struct node *n = arg;
    n->value = 1;
    n->next = atomic_load(&top);
    while (!atomic_compare_exchange_strong(&top, &n->next, n))
        ;
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    int sum = 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, push, &nodes[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    for (struct node *n = atomic_load(&top); n != NULL; n = n->next)
        sum += n->value;
    assert(sum == 2);
    return 0;
}
