// compilers: gcc clang
// check:
// verdict: incomplete
// executions: 6
// check: --nondet 0,1,2
// verdict: verified
// executions: 9
// check: --nondet int=5 --strategy dpor
// verdict: verified
// executions: 3
// check: --nondet int=-1..1 --self-check 1
// verdict: verified
// executions: 9
// check: --nondet int=3,4 --strategy dfs
// verdict: verified
// flags: -DFEW
// executions: 4
// check: --nondet 0..3
// flags: -DLIMIT=3
// verdict: bug
// finding: assertion detail=assert
/* n values of the thread's number and two of main's condition. If main does not store, there are n
 * executions. If it does, each of the n has both orders of the two stores: 3n together. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

int __VERIFIER_nondet_int(void);
_Bool __VERIFIER_nondet_bool(void);

#ifndef LIMIT
#define LIMIT 100
#endif

static atomic_int x;

static void *thread(void *unused)
{
    int value = __VERIFIER_nondet_int();
#ifndef FEW
    atomic_store(&x, value);
#endif
    assert(value != LIMIT);
    return unused;
}

int main(void)
{
#ifdef FEW
    thread(0);
    thread(0);
#else
    pthread_t other;
    pthread_create(&other, 0, thread, 0);
    if (__VERIFIER_nondet_bool())
        atomic_store(&x, 1);
    pthread_join(other, 0);
#endif
    return 0;
}
