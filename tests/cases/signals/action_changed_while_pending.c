// check:
// verdict: verified
// check:
// flags: -DNEVER_SECOND
// verdict: bug
// finding: assertion detail=assert
// check:
// flags: -DNEVER_FIRST
// verdict: bug
// finding: assertion detail=assert

// A thread unblocks a signal that is pending while another one installs another handler for it: either of
// the two runs.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static sigset_t set;

static void first(int number)
{
#ifdef NEVER_FIRST
    assert(0);
#endif
}

static void second(int number)
{
#ifdef NEVER_SECOND
    assert(0);
#endif
}

static void *worker(void *arg)
{
    pthread_kill(pthread_self(), SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    return arg;
}

static void *changer(void *arg)
{
    signal(SIGUSR1, second);
    return arg;
}

int main(void)
{
    pthread_t t, u;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    signal(SIGUSR1, first);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&t, NULL, worker, NULL);
    pthread_create(&u, NULL, changer, NULL);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    return 0;
}
