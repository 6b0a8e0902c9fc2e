// check: --strategy stateful
// verdict: bug
// finding: data-race var=x

// One post may let the reader go before the write of the thread that makes the other post.

#include <pthread.h>
#include <semaphore.h>

static sem_t ready;
static int x, y;

static void *post(void *arg) {
    sem_post(&ready);
    return arg;
}

static void *write_and_post(void *arg) {
    x = 1;
    sem_post(&ready);
    return arg;
}

static void *wait_and_read(void *arg) {
    sem_wait(&ready);
    y = x;
    return arg;
}

int main(void) {
    pthread_t a, b, c;
    sem_init(&ready, 0, 0);
    pthread_create(&a, 0, write_and_post, 0);
    pthread_create(&b, 0, post, 0);
    pthread_create(&c, 0, wait_and_read, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    pthread_join(c, 0);
    sem_destroy(&ready);
    return 0;
}
