// compilers: gcc clang
// check:
// verdict: verified
// executions: 3
// check: --strategy dpor
// verdict: verified
// executions: 3
// check:
// flags: -DTORN
// verdict: bug
// finding: assertion detail=assert
/* The section is before, between or behind the two loads of main. Without it there are 6 orders. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);

static atomic_int x, y;

static void *writer(void *unused)
{
#ifndef TORN
    __VERIFIER_atomic_begin();
#endif
    atomic_store(&x, 1);
    atomic_store(&y, 1);
#ifndef TORN
    __VERIFIER_atomic_end();
#endif
    return unused;
}

int main(void)
{
    pthread_t other;
    pthread_create(&other, 0, writer, 0);
    int b = atomic_load(&x);
    int a = atomic_load(&y);
    assert(!(b == 1 && a == 0));
    pthread_join(other, 0);
    return 0;
}
