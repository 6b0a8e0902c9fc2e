// compilers: gcc clang
// check: --property reach
// verdict: verified
// check: --property reach
// flags: -O2
// verdict: verified
// check:
// verdict: verified
// executions: 2
// check: --property reach
// flags: -DUNLOCKED
// verdict: bug
// findings: 1
// finding: assertion detail=assert
/* A lock made of an assumption: an abort because it does not hold is no failure. */
#include <pthread.h>
#include <stdlib.h>

void reach_error(void);

void assume_abort_if_not(int condition);
void assume_abort_if_not(int condition)
{
    if (!condition)
        abort();
}

static int lock, data;

void __VERIFIER_atomic_acquire(void);
void __VERIFIER_atomic_acquire(void)
{
#ifndef UNLOCKED
    assume_abort_if_not(lock == 0);
#endif
    lock = 1;
}

void __VERIFIER_atomic_release(void);
void __VERIFIER_atomic_release(void)
{
    lock = 0;
}

static void *thread(void *unused)
{
    __VERIFIER_atomic_acquire();
    data = 1;
    if (data != 1)
        reach_error();
    data = 0;
    __VERIFIER_atomic_release();
    return unused;
}

int main(void)
{
    pthread_t other;
    pthread_create(&other, 0, thread, 0);
    thread(0);
    pthread_join(other, 0);
    return 0;
}
