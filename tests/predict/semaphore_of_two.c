// Either of two posts lets the waiter go on, so that it need not come after the first one.
// race: x
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
    sem_post(&ready);
    return arg;
}

static void *three(void *arg) {
    sem_wait(&ready);
    x = 2;
    return arg;
}

int main(void) {
    pthread_t t[3];
    sem_init(&ready, 0, 0);
    pthread_create(&t[0], 0, one, 0);
    pthread_create(&t[1], 0, two, 0);
    pthread_create(&t[2], 0, three, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    sem_destroy(&ready);
    return 0;
}
