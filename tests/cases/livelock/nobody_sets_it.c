// compilers: gcc clang
// check:
// verdict: bug
// executions: 1
// finding: livelock detail=spin line=15

// Waiting for a flag that no thread ever sets.
#include <pthread.h>
#include <stdatomic.h>

atomic_int flag;

static void *wait_for_it(void *arg)
{
    while (!atomic_load(&flag))
        ;
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, wait_for_it, NULL);
    pthread_join(t, NULL);
    return 0;
}
