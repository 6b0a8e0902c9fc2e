// check:
// verdict: verified
// executions: 1

// Blocks go from producer to consumer through a semaphore and are freed there.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

static sem_t full;
int *slot[3];

static void *producer(void *arg)
{
    for (int i = 0; i < 3; i++) {
        slot[i] = malloc(sizeof(int));
        *slot[i] = i;
        sem_post(&full);
    }
    return NULL;
}

int main(void)
{
    pthread_t t;
    sem_init(&full, 0, 0);
    pthread_create(&t, NULL, producer, NULL);
    pthread_join(t, NULL);
    for (int i = 0; i < 3; i++) {
        sem_wait(&full);
        assert(*slot[i] == i);
        free(slot[i]);
    }
    sem_destroy(&full);
    return 0;
}
