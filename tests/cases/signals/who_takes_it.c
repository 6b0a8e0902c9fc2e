// check:
// verdict: verified
// check: --strategy dfs
// verdict: verified
// check:
// flags: -DPROCESS
// verdict: bug
// finding: assertion detail=assert

// A signal to a thread is taken by that thread. One to the process is taken by any that waits for it.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static sigset_t set;
static int taken[2];

static void *taker(void *number)
{
    int got;
    sigwait(&set, &got);
    *(int *)number = got;
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&a, NULL, taker, &taken[0]);
    pthread_create(&b, NULL, taker, &taken[1]);
#ifdef PROCESS
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR2);
#else
    pthread_kill(b, SIGUSR2);
    pthread_kill(a, SIGUSR1);
#endif
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(taken[0] == SIGUSR1 && taken[1] == SIGUSR2);
    return 0;
}
