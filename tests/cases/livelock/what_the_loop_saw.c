// compilers: gcc clang
// flags: -O0
// check:
// verdict: bug
// executions: 2
// finding: assertion detail=assert
// check: --strategy dpor
// verdict: bug
// executions: 2
// finding: assertion detail=assert
// check: --granularity access
// verdict: bug
// executions: 2
// finding: assertion detail=assert

// A failed round leaves a trace: the first round makes progress, because it copies the value that
// it read. So there is an execution with such a round and one without. Further rounds change
// nothing and are no executions.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int ready;

static void *set(void *arg)
{
    atomic_store(&ready, 1);
    return NULL;
}

int main(void)
{
    pthread_t setter;
    pthread_create(&setter, NULL, set, NULL);
    int last = 1, now;
    while ((now = atomic_load(&ready)) == 0)
        last = now;
    assert(last == 1);
    pthread_join(setter, NULL);
    return 0;
}
