// compilers: gcc clang
// check:
// verdict: verified
// executions: 12
// check: --strategy dpor
// verdict: verified
// executions: 12
// check: --jobs 2
// verdict: verified
// executions: 12
// check: --strategy random --max-executions 200
// flags: -DBAD
// verdict: bug
// finding: assertion detail=assert
// check:
// flags: -DBAD
// verdict: bug
// findings: 1
// finding: assertion detail=assert
/* 2 * 3 ways to choose, and two orders of the two stores. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include "../../../share/raddle.h"

static atomic_uint x;

static void *thread(void *unused)
{
    atomic_store(&x, RADDLE_CHOOSE(3));
    return unused;
}

int main(void)
{
    pthread_t other;
    pthread_create(&other, 0, thread, 0);
    unsigned own = 10 + RADDLE_CHOOSE(2);
    atomic_store(&x, own);
    pthread_join(other, 0);
#ifdef BAD
    assert(!(atomic_load(&x) == 2 && own == 11));
#endif
    return 0;
}
