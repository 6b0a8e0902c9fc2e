// check:
// verdict: verified
// check:
// flags: -DMAIN_ONLY
// verdict: bug
// finding: assertion detail=assert

// A signal to the process is taken by any thread that has not blocked it, and by one of them only.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static pthread_t first;
static atomic_int calls, word;

static void handle(int number)
{
#ifdef MAIN_ONLY
    assert(pthread_equal(pthread_self(), first));
#endif
    atomic_fetch_add(&calls, 1);
}

static void *worker(void *arg)
{
    atomic_load(&word);
    return arg;
}

int main(void)
{
    pthread_t t;
    first = pthread_self();
    signal(SIGUSR1, handle);
    pthread_create(&t, NULL, worker, NULL);
    kill(getpid(), SIGUSR1);
    pthread_join(t, NULL);
    assert(atomic_load(&calls) <= 1);
    return 0;
}
