// check:
// verdict: verified

// Polling for a signal that no thread sends returns at once. A thread that waits for one while the
// program ends is no deadlock.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static sigset_t set;

static void *taker(void *arg)
{
    int got;
    sigwait(&set, &got);
    return arg;
}

int main(void)
{
    struct timespec second = {1, 0};
    pthread_t a;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    assert(sigtimedwait(&set, NULL, &second) == -1 && errno == EAGAIN);
    pthread_create(&a, NULL, taker, NULL);
    pthread_detach(a);
    exit(0);
}
