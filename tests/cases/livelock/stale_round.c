// compilers: gcc clang
// check:
// flags: -O0
// verdict: verified
// executions: 1
// check:
// flags: -O2
// verdict: verified
// executions: 1
// check: --strategy dpor
// verdict: verified
// executions: 1
// check: --strategy dfs
// verdict: verified
// check:
// flags: -DFAILS
// verdict: bug
// finding: assertion detail=assert

// A round reads two words. A thread that has read the first one before it changes is held before the
// second, which never changes. Such an end of a run is no execution of its own, and no livelock: it is
// covered by the one in which the thread begins its round later and finds the change. What follows from
// there is not lost.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int first, second;

static void *wait(void *arg)
{
    while (first != 2 && second == 0)
        ;
#ifdef FAILS
    assert(first != 2);
#endif
    return arg;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait, NULL);
    first = 2;
    pthread_join(thread, NULL);
    return 0;
}
