// check:
// verdict: bug
// finding: assertion detail=assert line=13

// The conventions of the software verification competition: reach_error is an assertion that
// failed.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

void reach_error(void)
{
    assert(0);
}

atomic_int x;

static void *add(void *arg)
{
    int v = atomic_load(&x);
    atomic_store(&x, v + 1);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    if (atomic_load(&x) != 2)
        reach_error();
    return 0;
}
