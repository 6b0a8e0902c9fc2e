// check:
// verdict: bug
// finding: assertion detail=assert line=18

// The same with a value of 2 where 1 was meant.
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
    assert(now <= 1);
    atomic_fetch_sub(&inside, 1);
    sem_post(&s);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    sem_init(&s, 0, 2);
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    sem_destroy(&s);
    return 0;
}
