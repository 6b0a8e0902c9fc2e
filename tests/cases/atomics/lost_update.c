// check:
// verdict: bug
// finding: assertion detail=assert line=26

// Load and store are atomic each, the increment is not. No race, a wrong result.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int count;

static void *add(void *arg)
{
    int now = atomic_load(&count);
    atomic_store(&count, now + 1);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(atomic_load(&count) == 2);
    return 0;
}
