// A third thread carries the order from one lock to another: again only by chance.
// race: x
#include <pthread.h>

static int x;
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *arg) {
    x = 1;
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    return arg;
}

static void *two(void *arg) {
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    return arg;
}

static void *three(void *arg) {
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    x = 2;
    return arg;
}

int main(void) {
    pthread_t t[3];
    pthread_create(&t[0], 0, one, 0);
    pthread_create(&t[1], 0, two, 0);
    pthread_create(&t[2], 0, three, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], 0);
    return 0;
}
