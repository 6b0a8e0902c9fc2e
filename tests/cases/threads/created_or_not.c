// check:
// verdict: verified
// executions: 3
// blocked: 0

// Whether T1 starts a third thread depends on the schedule. T1 before T2's store: no child. After
// it: the child's load comes before or after T2's second store.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int go, level;

static void *child(void *arg)
{
    int l = atomic_load(&level);
    assert(l == 0 || l == 1);
    return NULL;
}

static void *maybe(void *arg)
{
    if (atomic_load(&go)) {
        pthread_t t;
        pthread_create(&t, NULL, child, NULL);
        pthread_join(t, NULL);
    }
    return NULL;
}

static void *starter(void *arg)
{
    atomic_store(&go, 1);
    atomic_store(&level, 1);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, maybe, NULL);
    pthread_create(&b, NULL, starter, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
