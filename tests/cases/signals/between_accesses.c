// check:
// verdict: verified
// check: --granularity access
// verdict: bug
// finding: assertion detail=assert

// A handler between two plain writes of its own thread, which is no data race: only at access
// granularity are there scheduling points.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static volatile int first, second;

static void handle(int number)
{
    assert(first == second);
}

static void *worker(void *arg)
{
    first = 1;
    second = 1;
    return arg;
}

int main(void)
{
    pthread_t t;
    signal(SIGUSR1, handle);
    pthread_create(&t, NULL, worker, NULL);
    pthread_kill(t, SIGUSR1);
    pthread_join(t, NULL);
    return 0;
}
