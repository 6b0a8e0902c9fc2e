// check:
// verdict: bug
// findings: at-least
// finding: assertion detail=assert line=35

// The ABA problem: T1 is about to pop A and remembers A's successor B; T2 pops A and B and pushes A
// again; T1's exchange succeeds and brings B back, which T2 owns.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

struct node {
    struct node *_Atomic next;
    atomic_int owned;
};

struct node b = { NULL, 0 }, a = { &b, 0 };
struct node *_Atomic top = &a;

static struct node *pop_once(void)
{
    struct node *n = atomic_load(&top);
    if (n == NULL)
        return NULL;
    struct node *next = atomic_load(&n->next);
    return atomic_compare_exchange_strong(&top, &n, next) ? n : NULL;
}

static void *popper(void *arg)
{
    if (pop_once() != NULL) {
        struct node *n = atomic_load(&top);
        if (n != NULL)
            assert(!atomic_load(&n->owned));
    }
    return NULL;
}

static void *juggler(void *arg)
{
    struct node *first = pop_once();
    if (first == NULL)
        return NULL;
    struct node *second = pop_once();
    if (second == NULL)
        return NULL;
    atomic_store(&second->owned, 1);
    struct node *seen = atomic_load(&top);
    atomic_store(&first->next, seen);
    atomic_compare_exchange_strong(&top, &seen, first);
    return NULL;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, NULL, popper, NULL);
    pthread_create(&u, NULL, juggler, NULL);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    return 0;
}
