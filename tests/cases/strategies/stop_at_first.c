// check: --stop-at-first
// verdict: bug
// findings: 1
// finding: assertion detail=assert
// check:
// verdict: bug
// findings: 2
// finding: assertion detail=assert line=27
// finding: assertion detail=assert line=29

// Two different assertions fail in different executions; stopping at the first leaves one of them.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int x;

static void *store(void *arg)
{
    atomic_store(&x, 1);
    return NULL;
}

static void *look(void *arg)
{
    if (atomic_load(&x))
        assert(!"after");
    else
        assert(!"before");
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, store, NULL);
    pthread_create(&b, NULL, look, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
