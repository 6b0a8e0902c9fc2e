// Each thread has a lock of its own.
// race: counter
#include <pthread.h>

static int counter;
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *arg) {
    pthread_mutex_lock(&a);
    counter++;
    pthread_mutex_unlock(&a);
    return arg;
}

static void *two(void *arg) {
    pthread_mutex_lock(&b);
    counter++;
    pthread_mutex_unlock(&b);
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
