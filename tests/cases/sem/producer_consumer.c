// check:
// verdict: verified
// executions: 1
// blocked: 0

// One slot, two semaphores: producer and consumer strictly alternate.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

static sem_t empty, full;
int slot;

static void *producer(void *arg)
{
    for (int i = 1; i <= 3; i++) {
        sem_wait(&empty);
        slot = i;
        sem_post(&full);
    }
    return NULL;
}

static void *consumer(void *arg)
{
    for (int i = 1; i <= 3; i++) {
        sem_wait(&full);
        assert(slot == i);
        sem_post(&empty);
    }
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    sem_init(&empty, 0, 1);
    sem_init(&full, 0, 0);
    pthread_create(&a, NULL, producer, NULL);
    pthread_create(&b, NULL, consumer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    sem_destroy(&empty);
    sem_destroy(&full);
    return 0;
}
