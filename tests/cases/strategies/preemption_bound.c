// check: --preemptions 0
// verdict: incomplete
// exit: 3
// check: --preemptions 1
// verdict: bug
// finding: assertion detail=assert line=29

// The lost update needs one preemption: between load and store of one thread.
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
