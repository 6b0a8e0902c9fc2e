// x is written before and read after the barrier; y is written by both after it.
// race: y
// safe: x
#include <pthread.h>

static int x, y;
static pthread_barrier_t b;

static void *one(void *arg) {
    x = 1;
    pthread_barrier_wait(&b);
    y++;
    return arg;
}

static void *two(void *arg) {
    pthread_barrier_wait(&b);
    y += x;
    return arg;
}

int main(void) {
    pthread_t a, c;
    pthread_barrier_init(&b, 0, 2);
    pthread_create(&a, 0, one, 0);
    pthread_create(&c, 0, two, 0);
    pthread_join(a, 0);
    pthread_join(c, 0);
    pthread_barrier_destroy(&b);
    return 0;
}
