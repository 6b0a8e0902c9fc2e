// check:
// verdict: verified
// executions: 3
// blocked: 0

// x=1; y=1 || r=y; s=x. (r, s) is (0,0), (0,1) or (1,1); (1,0) would be a cycle.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int x, y;
int r, s;

static void *send(void *arg)
{
    atomic_store(&x, 1);
    atomic_store(&y, 1);
    return NULL;
}

static void *receive(void *arg)
{
    r = atomic_load(&y);
    s = atomic_load(&x);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, send, NULL);
    pthread_create(&b, NULL, receive, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(!(r == 1 && s == 0));
    return 0;
}
