// check: --memory rc11
// verdict: verified
// executions: 2
// check: --memory tso
// verdict: verified
// executions: 2
// check: --memory rc11
// flags: -DSTUCK
// verdict: bug
// finding: deadlock detail=all-blocked
// check: --memory rc11
// flags: -DSTUCK -DTRY
// verdict: verified
// executions: 2

// Two threads take from a semaphore, in either order, what main has posted before. STUCK: it posts one less. TRY:
// they only try, and one of them fails.
#include <pthread.h>
#include <semaphore.h>

static sem_t semaphore;

static void *take(void *arg) {
#ifdef TRY
    sem_trywait(&semaphore);
#else
    sem_wait(&semaphore);
#endif
    return arg;
}

int main(void) {
    pthread_t threads[2];
    sem_init(&semaphore, 0, 1);
#ifndef STUCK
    sem_post(&semaphore);
#endif
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, take, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    sem_destroy(&semaphore);
    return 0;
}
