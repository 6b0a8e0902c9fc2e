// check:
// verdict: verified

// A signal that is blocked and sent to a thread is taken by sigwait.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static void *taker(void *set)
{
    int got = 0;
    assert(sigwait(set, &got) == 0 && got == SIGUSR1);
    return NULL;
}

int main(void)
{
    sigset_t set;
    pthread_t a;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&a, NULL, taker, &set);
    pthread_kill(a, SIGUSR1);
    pthread_join(a, NULL);
    return 0;
}
