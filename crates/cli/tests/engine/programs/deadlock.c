// Two threads take two locks in opposite order; semaphores make sure that each has one before it wants the other.
// status: 1
// says: deadlock: 
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static sem_t first, second;

static void *other(void *argument) {
    pthread_mutex_lock(&right);
    sem_post(&first);
    sem_wait(&second);
    pthread_mutex_lock(&left);
    return argument;
}

int main(void) {
    pthread_t thread;
    sem_init(&first, 0, 0);
    sem_init(&second, 0, 0);
    pthread_create(&thread, 0, other, 0);
    sem_wait(&first);
    pthread_mutex_lock(&left);
    sem_post(&second);
    pthread_mutex_lock(&right);
    return 0;
}
