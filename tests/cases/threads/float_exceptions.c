// compilers: gcc clang
// flags: -lm
// check:
// verdict: verified
// executions: 2

// The flags of floating-point exceptions belong to a thread, those of x87 and of SSE, and a run
// leaves none behind.
#include <assert.h>
#include <fenv.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int x;
static volatile long double wide = 1;
static volatile double narrow = 1;

static void *body(void *arg)
{
    wide = wide / 3;
    narrow = narrow / 3;
    x++;
    assert(fetestexcept(FE_INEXACT));
    return NULL;
}

int main(void)
{
    assert(!fetestexcept(FE_ALL_EXCEPT));
    pthread_t t;
    pthread_create(&t, NULL, body, NULL);
    x++;
    assert(!fetestexcept(FE_ALL_EXCEPT));
    pthread_join(t, NULL);
    assert(!fetestexcept(FE_ALL_EXCEPT));
    return 0;
}
