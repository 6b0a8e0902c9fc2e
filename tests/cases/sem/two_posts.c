// check:
// verdict: verified
// executions: 3
// blocked: 0

// Two posts commute; the wait comes after either one (2) or after both (1).
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

static sem_t s;

static void *post(void *arg)
{
    sem_post(&s);
    return NULL;
}

static void *wait(void *arg)
{
    sem_wait(&s);
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    int left;
    sem_init(&s, 0, 0);
    pthread_create(&t[0], NULL, post, NULL);
    pthread_create(&t[1], NULL, post, NULL);
    pthread_create(&t[2], NULL, wait, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    sem_getvalue(&s, &left);
    assert(left == 1);
    sem_destroy(&s);
    return 0;
}
