// check:
// verdict: verified
// check: --strategy dfs
// verdict: verified
// check:
// flags: -DALWAYS_AFTER
// verdict: bug
// finding: assertion detail=assert
// check:
// flags: -DALWAYS_BEFORE
// verdict: bug
// finding: assertion detail=assert

// A thread runs a handler that blocks another signal. That one arrives before or behind the handler,
// whenever it was sent.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static volatile sig_atomic_t inside, done;
static atomic_int word;

static void first(int number)
{
    inside = 1;
    atomic_store(&word, 1);
    inside = 0;
    done = 1;
}

static void second(int number)
{
    assert(!inside);
#ifdef ALWAYS_AFTER
    assert(done);
#elif defined ALWAYS_BEFORE
    assert(!done);
#endif
}

static void *worker(void *arg)
{
    raise(SIGUSR1);
    return arg;
}

int main(void)
{
    pthread_t t;
    struct sigaction action = { .sa_handler = first };
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR2);
    sigaction(SIGUSR1, &action, NULL);
    signal(SIGUSR2, second);
    pthread_create(&t, NULL, worker, NULL);
    pthread_kill(t, SIGUSR2);
    pthread_join(t, NULL);
    return 0;
}
