// check: --property reach
// verdict: verified
// executions: 1
// check:
// verdict: bug
// findings: 2
// finding: misuse detail=join-twice line=18
// finding: misuse detail=join-twice line=19
/* The handle of a joined thread names no thread any more: ESRCH, as in the C library. */
#include <assert.h>
#include <errno.h>
#include <pthread.h>

static void *thread(void *unused) { return unused; }

static void again(pthread_t joined)
{
    int detached = pthread_detach(joined);
    int ended = pthread_join(joined, 0);
    assert(detached == ESRCH);
    assert(ended == ESRCH);
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, thread, 0);
    pthread_join(t, 0);
    again(t);
    return 0;
}
