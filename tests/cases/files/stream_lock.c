// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
// check:
// flags: -DCYCLE
// verdict: bug
// findings: at-least
// finding: deadlock detail=cycle

// flockfile is a recursive lock, in whose section a thread may wait for another lock.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int x;

static void *body(void *arg)
{
    flockfile(stdout);
    assert(ftrylockfile(stdout) == 0);
    pthread_mutex_lock(&m);
    x++;
    pthread_mutex_unlock(&m);
    funlockfile(stdout);
    funlockfile(stdout);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, body, NULL);
#ifdef CYCLE
    pthread_mutex_lock(&m);
    flockfile(stdout);
    funlockfile(stdout);
    pthread_mutex_unlock(&m);
#else
    body(NULL);
#endif
    pthread_join(t, NULL);
    return 0;
}
