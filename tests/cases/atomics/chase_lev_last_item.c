// check:
// verdict: verified

// Owner and thief meet at the last item of a work-stealing deque: exactly one of them gets it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int head, tail = 1, taken;

static void *owner(void *arg)
{
    int t = atomic_load(&tail) - 1;
    atomic_store(&tail, t);
    int h = atomic_load(&head);
    if (h < t) {
        atomic_fetch_add(&taken, 1);
    } else if (h == t) {
        if (atomic_compare_exchange_strong(&head, &h, h + 1))
            atomic_fetch_add(&taken, 1);
        atomic_store(&tail, t + 1);
    } else {
        atomic_store(&tail, t + 1);
    }
    return NULL;
}

static void *thief(void *arg)
{
    int h = atomic_load(&head);
    int t = atomic_load(&tail);
    if (h < t && atomic_compare_exchange_strong(&head, &h, h + 1))
        atomic_fetch_add(&taken, 1);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, owner, NULL);
    pthread_create(&b, NULL, thief, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(atomic_load(&taken) == 1);
    return 0;
}
