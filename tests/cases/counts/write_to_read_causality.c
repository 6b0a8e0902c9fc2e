// check:
// verdict: verified
// executions: 7
// blocked: 0

// x=1 || r=x; y=1 || s=y; t=x. Three reads, 8 combinations, less r=1, s=1, t=0.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int x, y;
int r, s, t;

static void *one(void *arg)
{
    atomic_store(&x, 1);
    return NULL;
}

static void *two(void *arg)
{
    r = atomic_load(&x);
    atomic_store(&y, 1);
    return NULL;
}

static void *three(void *arg)
{
    s = atomic_load(&y);
    t = atomic_load(&x);
    return NULL;
}

int main(void)
{
    pthread_t a, b, c;
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, two, NULL);
    pthread_create(&c, NULL, three, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(c, NULL);
    assert(!(r == 1 && s == 1 && t == 0));
    return 0;
}
