// check:
// verdict: bug
// executions: 3
// finding: deadlock detail=all-blocked line=16 line2=25

// AB-BA with semaphores: a semaphore has no owner, so it is no lock cycle, but no thread can
// continue.
#include <pthread.h>
#include <semaphore.h>

static sem_t p, q;

static void *one(void *arg)
{
    sem_wait(&p);
    sem_wait(&q);
    sem_post(&q);
    sem_post(&p);
    return NULL;
}

static void *two(void *arg)
{
    sem_wait(&q);
    sem_wait(&p);
    sem_post(&p);
    sem_post(&q);
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    sem_init(&p, 0, 1);
    sem_init(&q, 0, 1);
    pthread_create(&t[0], NULL, one, NULL);
    pthread_create(&t[1], NULL, two, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    sem_destroy(&p);
    sem_destroy(&q);
    return 0;
}
