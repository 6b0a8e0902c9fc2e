// check:
// verdict: incomplete

// A signal to another thread is not delivered, which the verdict says; that the thread waits for it
// is no livelock.
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
