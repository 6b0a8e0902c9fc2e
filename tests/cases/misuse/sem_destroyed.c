// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=sem-destroyed var=s line=15

// The classical end of a short-lived semaphore: the waiter destroys it while the poster has not
// posted yet.
#include <pthread.h>
#include <semaphore.h>

static sem_t s;

static void *poster(void *arg)
{
    sem_post(&s);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    sem_init(&s, 0, 0);
    pthread_create(&a, NULL, poster, NULL);
    pthread_create(&b, NULL, poster, NULL);
    sem_wait(&s);
    sem_destroy(&s);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
