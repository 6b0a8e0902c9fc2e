// The second section reads what the first one wrote, but nothing depends on it: the order is still
// chance.
// race: y
// safe: x
#include <pthread.h>

static int x, y, seen;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *arg) {
    y = 1;
    pthread_mutex_lock(&m);
    x = 1;
    pthread_mutex_unlock(&m);
    return arg;
}

static void *two(void *arg) {
    pthread_mutex_lock(&m);
    seen = x;
    pthread_mutex_unlock(&m);
    y = 2;
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
