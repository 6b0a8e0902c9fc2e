// check:
// verdict: verified
// check: --strategy dfs
// verdict: verified
// check:
// flags: -DUNBLOCKED
// verdict: bug
// finding: assertion detail=assert

// A thread blocks a signal around what its handler must not see. A signal that comes meanwhile arrives
// when the thread unblocks it.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static volatile sig_atomic_t inside;
static atomic_int word;
static sigset_t set;

static void handle(int number)
{
    assert(!inside);
}

static void *worker(void *arg)
{
#ifndef UNBLOCKED
    pthread_sigmask(SIG_BLOCK, &set, NULL);
#endif
    inside = 1;
    atomic_store(&word, 1);
    inside = 0;
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    return arg;
}

int main(void)
{
    pthread_t t;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    signal(SIGUSR1, handle);
    pthread_create(&t, NULL, worker, NULL);
    pthread_kill(t, SIGUSR1);
    pthread_join(t, NULL);
    return 0;
}
