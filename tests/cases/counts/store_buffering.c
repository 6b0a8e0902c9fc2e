// compilers: gcc clang
// check:
// verdict: verified
// executions: 3
// blocked: 0
// check: --strategy dpor
// verdict: verified
// executions: 3
// check: --granularity access
// verdict: verified
// executions: 3

// x=1; r=y || y=1; s=x. Each read is before or after the other's write: 4 combinations, less "both
// before", a cycle.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int x, y;
int r, s;

static void *left(void *arg)
{
    atomic_store(&x, 1);
    r = atomic_load(&y);
    return NULL;
}

static void *right(void *arg)
{
    atomic_store(&y, 1);
    s = atomic_load(&x);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, left, NULL);
    pthread_create(&b, NULL, right, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(r == 1 || s == 1);
    return 0;
}
