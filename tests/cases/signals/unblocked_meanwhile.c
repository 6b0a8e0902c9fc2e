// check:
// verdict: verified
// executions: 3

// Where a signal arrives depends on when its thread unblocks it. Sent before, it arrives there; sent
// behind, it arrives before the thread ends, or not at all.
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static sigset_t set;

static void handler(int number)
{
}

static void *unblocks(void *arg)
{
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    return arg;
}

int main(void)
{
    pthread_t a;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    signal(SIGUSR1, handler);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&a, NULL, unblocks, NULL);
    pthread_kill(a, SIGUSR1);
    pthread_join(a, NULL);
    return 0;
}
