// compilers: gcc clang
// check:
// verdict: verified
// executions: 1

// The same with a setter: failed looks are removed, so there is one execution.
#include <pthread.h>
#include <stdatomic.h>

atomic_int flag;

static void *wait_for_it(void *arg)
{
    while (!atomic_load(&flag))
        ;
    return NULL;
}

static void *set(void *arg)
{
    atomic_store(&flag, 1);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, wait_for_it, NULL);
    pthread_create(&b, NULL, set, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
