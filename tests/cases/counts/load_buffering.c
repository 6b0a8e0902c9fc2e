// check:
// verdict: verified
// executions: 3
// blocked: 0

// r=x; y=1 || s=y; x=1. Both reads seeing 1 would be a cycle.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int x, y;
int r, s;

static void *left(void *arg)
{
    r = atomic_load(&x);
    atomic_store(&y, 1);
    return NULL;
}

static void *right(void *arg)
{
    s = atomic_load(&y);
    atomic_store(&x, 1);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, left, NULL);
    pthread_create(&b, NULL, right, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(r == 0 || s == 0);
    return 0;
}
