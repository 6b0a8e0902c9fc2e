// compilers: gcc clang
// check:
// verdict: verified

// The usual retry loop: a failed exchange means that another thread made progress, so it ends.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int count;

static void *add(void *arg)
{
    int now = atomic_load(&count);
    while (!atomic_compare_exchange_weak(&count, &now, now + 1))
        ;
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, add, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    assert(atomic_load(&count) == 3);
    return 0;
}
