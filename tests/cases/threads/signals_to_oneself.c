// check:
// verdict: verified
// executions: 2
// check: --strategy dpor
// verdict: verified
// executions: 2

// Each thread's signal is handled by that thread, even while another one is in the same handler.
// The two additions have two orders.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static atomic_int handled;

static void handle(int signal)
{
    atomic_fetch_add(&handled, 1);
}

static void *work(void *arg)
{
    raise(SIGUSR1);
    return NULL;
}

int main(void)
{
    signal(SIGUSR1, handle);
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(atomic_load(&handled) == 2);
    return 0;
}
