// check:
// verdict: bug
// findings: at-least
// finding: deadlock detail=cycle line=16 line2=23

// Two threads wait for each other's end.
#include <pthread.h>
#include <semaphore.h>

static pthread_t first, second;
static sem_t known;

static void *one(void *arg)
{
    sem_wait(&known);
    pthread_join(second, NULL);
    return NULL;
}

static void *two(void *arg)
{
    sem_wait(&known);
    pthread_join(first, NULL);
    return NULL;
}

int main(void)
{
    sem_init(&known, 0, 0);
    pthread_create(&first, NULL, one, NULL);
    pthread_create(&second, NULL, two, NULL);
    sem_post(&known);
    sem_post(&known);
    pthread_exit(NULL);
}
