// check:
// verdict: verified
// executions: 2

// A thread waits busily for what a handler does in it. The handler runs before the thread starts, or before
// it looks: then it goes round until the handler has run.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static atomic_int handled;

static void handle(int signal)
{
    atomic_store(&handled, 1);
}

static void *wait_for_it(void *arg)
{
    while (!atomic_load(&handled))
        ;
    return NULL;
}

int main(void)
{
    signal(SIGUSR1, handle);
    pthread_t waiting;
    pthread_create(&waiting, NULL, wait_for_it, NULL);
    pthread_kill(waiting, SIGUSR1);
    pthread_join(waiting, NULL);
    return 0;
}
