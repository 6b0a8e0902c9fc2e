// check:
// verdict: verified
// executions: 3
// blocked: 0

// x=1; y=2 || y=1; x=2. Two orders at each location, less the one in which both first writes come
// last.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int x, y;

static void *left(void *arg)
{
    atomic_store(&x, 1);
    atomic_store(&y, 2);
    return NULL;
}

static void *right(void *arg)
{
    atomic_store(&y, 1);
    atomic_store(&x, 2);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, left, NULL);
    pthread_create(&b, NULL, right, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(!(atomic_load(&x) == 1 && atomic_load(&y) == 1));
    return 0;
}
