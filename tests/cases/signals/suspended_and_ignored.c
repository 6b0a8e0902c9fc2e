// compilers: gcc clang
// check:
// verdict: verified

// A signal that is ignored does not end sigsuspend. One whose handler was replaced is ignored, too.
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
    sigset_t none;
    sigemptyset(&none);
    sigsuspend(&none);
    assert(calls == 1);
    return arg;
}

int main(void)
{
    sigset_t set;
    pthread_t a;
    signal(SIGUSR1, handler);
    signal(SIGUSR2, handler);
    signal(SIGUSR2, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&a, NULL, sleeper, NULL);
    pthread_kill(a, SIGUSR2);
    pthread_kill(a, SIGCHLD);
    pthread_kill(a, SIGUSR1);
    pthread_join(a, NULL);
    return 0;
}
