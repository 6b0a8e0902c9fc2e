// check:
// verdict: verified
// executions: 5
// check: --strategy optimal
// verdict: verified
// executions: 5
// check: --strategy dpor
// verdict: verified
// executions: 5
// check: --strategy stateful
// verdict: verified
// check: --strategy dfs
// verdict: verified
// check: --strategy random --seed 1 --max-executions 20
// verdict: incomplete

// The handler runs at any moment of the thread that the signal is sent to: before its start, before
// each of its two stores, before its end; or it has ended, and the signal is lost. These are 5 orders.
// The order of the handler's own store with anything else makes no difference.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int handled, a, b;

static void handle(int number)
{
    atomic_store(&handled, number);
}

static void *worker(void *arg)
{
    atomic_store(&a, 1);
    atomic_store(&b, 1);
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
