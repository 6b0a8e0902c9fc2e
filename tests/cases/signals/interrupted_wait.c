// check:
// verdict: verified
// check:
// flags: -DRESTART
// verdict: bug
// finding: deadlock detail=all-blocked

// A handler ends the wait of its thread, unless it was installed with SA_RESTART. It may also run before
// the thread waits, so that another one has to let it go on.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t done;
static sem_t semaphore, ready;

static void handle(int number)
{
    done = 1;
    sem_post(&ready);
}

static void *waits(void *arg)
{
    if (sem_wait(&semaphore) < 0)
        assert(errno == EINTR && done);
    return arg;
}

int main(void)
{
    pthread_t t;
    struct sigaction action = { .sa_handler = handle };
#ifdef RESTART
    action.sa_flags = SA_RESTART;
#endif
    sigaction(SIGUSR1, &action, NULL);
    sem_init(&semaphore, 0, 0);
    sem_init(&ready, 0, 0);
    pthread_create(&t, NULL, waits, NULL);
    pthread_kill(t, SIGUSR1);
#ifndef RESTART
    sem_wait(&ready);
    sem_post(&semaphore);
#endif
    pthread_join(t, NULL);
    sem_destroy(&ready);
    sem_destroy(&semaphore);
    return 0;
}
