// compilers: gcc clang
// check:
// verdict: verified
// executions: 1
// check: --strategy dpor
// verdict: verified
// executions: 1

// Executions in which an assumption is false do not count: of the two orders of load and store one
// is left.
#include <pthread.h>
#include <stdatomic.h>

void __VERIFIER_assume(int condition);

atomic_int ready;

static void *look(void *arg)
{
    __VERIFIER_assume(atomic_load(&ready) == 1);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, look, NULL);
    atomic_store(&ready, 1);
    pthread_join(t, NULL);
    return 0;
}
