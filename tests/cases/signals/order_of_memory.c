// check:
// verdict: verified
// check: --strategy dfs
// verdict: verified
// check:
// flags: -DRACE
// verdict: bug
// finding: data-race var=shared
// findings: 1

// What the sender did happens before the handler. The handler and the thread that it interrupts are one
// thread, so what they share is in no race. Between the handler and other threads there is no order.
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int sent, own, shared;

static void handle(int number)
{
    own += sent;
#ifdef RACE
    shared++;
#endif
}

static void *worker(void *arg)
{
    own++;
    pthread_mutex_lock(&mutex);
    own++;
    shared++;
    pthread_mutex_unlock(&mutex);
    own++;
    return arg;
}

int main(void)
{
    pthread_t t;
    signal(SIGUSR1, handle);
    pthread_create(&t, NULL, worker, NULL);
    sent = 1;
    pthread_kill(t, SIGUSR1);
    pthread_mutex_lock(&mutex);
    shared++;
    pthread_mutex_unlock(&mutex);
    pthread_join(t, NULL);
    return 0;
}
