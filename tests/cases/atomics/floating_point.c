// compilers: gcc clang
// flags: -latomic
// check:
// verdict: verified
// check:
// flags: -O2
// verdict: verified
// check: --strategy optimal
// verdict: verified
// check:
// flags: -DAPART
// verdict: bug
// finding: assertion detail=assert

// An update of an atomic floating-point number is a loop of compare-exchanges: none is lost. gcc saves
// the environment of the floating-point unit around it. A load and a store apart lose one.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static _Atomic float sum;

static void *add(void *arg)
{
#ifdef APART
    sum = sum + 1;
#else
    sum += 1;
#endif
    return arg;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, add, NULL);
    add(NULL);
    pthread_join(thread, NULL);
    assert(sum == 2);
    return 0;
}
