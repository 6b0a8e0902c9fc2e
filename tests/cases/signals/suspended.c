// check:
// verdict: verified
// check:
// flags: -DTWICE
// verdict: bug
// finding: assertion detail=assert

// A thread sleeps until another one wakes it by a signal, which it blocks everywhere else. Two
// signals before it sleeps are one.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t calls;

static void handler(int number)
{
    calls++;
}

static void *sleeper(void *arg)
{
    sigset_t set;
    sigfillset(&set);
    sigdelset(&set, SIGUSR1);
    while (!calls)
        sigsuspend(&set);
#ifdef TWICE
    sigset_t pending;
    sigpending(&pending);
    assert(sigismember(&pending, SIGUSR1));
#endif
    return arg;
}

int main(void)
{
    sigset_t set;
    pthread_t a;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGUSR1, handler);
    pthread_create(&a, NULL, sleeper, NULL);
    pthread_kill(a, SIGUSR1);
#ifdef TWICE
    pthread_kill(a, SIGUSR1);
#endif
    pthread_join(a, NULL);
    return 0;
}
