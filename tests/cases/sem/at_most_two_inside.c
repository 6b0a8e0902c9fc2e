// check:
// verdict: verified

// A semaphore of value 2 never lets a third in.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

static sem_t s;
atomic_int inside;

static void *work(void *arg)
{
    sem_wait(&s);
    int now = atomic_fetch_add(&inside, 1) + 1;
    assert(now <= 2);
    atomic_fetch_sub(&inside, 1);
    sem_post(&s);
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    sem_init(&s, 0, 2);
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    sem_destroy(&s);
    return 0;
}
