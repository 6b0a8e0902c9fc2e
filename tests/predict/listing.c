// The paper's first listing: y outside, x inside the lock, in opposite order. In the observed order
// the lock separates the two y++; with the second thread first it does not. x is safe.
// race: y
// safe: x
// counterexample: lock.t2.m, unlock.t2.m
#include <pthread.h>

static int x, y;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *arg) {
    y++;
    pthread_mutex_lock(&m);
    x++;
    pthread_mutex_unlock(&m);
    return arg;
}

static void *two(void *arg) {
    pthread_mutex_lock(&m);
    x++;
    pthread_mutex_unlock(&m);
    y++;
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, one, 0);
    pthread_create(&b, 0, two, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
