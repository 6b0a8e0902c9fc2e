// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=sem-destroy-waited var=s line=24

// Destroyed while a thread waits.
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

static sem_t s;

static void *waiter(void *arg)
{
    sem_wait(&s);
    return NULL;
}

int main(void)
{
    pthread_t t;
    sem_init(&s, 0, 0);
    pthread_create(&t, NULL, waiter, NULL);
    sem_destroy(&s);
    pthread_detach(t);
    pthread_exit(NULL);
}
