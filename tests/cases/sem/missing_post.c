// check:
// verdict: bug
// finding: deadlock detail=all-blocked line=13

// Value 1, two waits, no post: one thread waits for ever.
#include <pthread.h>
#include <semaphore.h>

static sem_t s;

static void *take(void *arg)
{
    sem_wait(&s);
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    sem_init(&s, 0, 1);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, take, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    sem_destroy(&s);
    return 0;
}
