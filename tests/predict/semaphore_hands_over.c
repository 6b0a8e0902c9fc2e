// A semaphore hands the value over.
// safe: x
#include <pthread.h>
#include <semaphore.h>

static int x;
static sem_t ready;

static void *one(void *arg) {
    x = 1;
    sem_post(&ready);
    return arg;
}

static void *two(void *arg) {
    sem_wait(&ready);
    x = 2;
    return arg;
}

int main(void) {
    pthread_t a, b;
    sem_init(&ready, 0, 0);
    pthread_create(&a, 0, one, 0);
    pthread_create(&b, 0, two, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    sem_destroy(&ready);
    return 0;
}
