// check: --property race
// verdict: verified
// check: --property all
// verdict: bug
// finding: assertion detail=assert line=22

// Asked for races only, other defects are left aside: verified then means free of data races.
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
    assert(atomic_load(&x) == 1);
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
