// Readers read, the writer writes.
// safe: x
#include <pthread.h>

static int x, sum[2];
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;

static void *one(void *arg) {
    pthread_rwlock_wrlock(&l);
    x++;
    pthread_rwlock_unlock(&l);
    return arg;
}

static void *two(void *arg) {
    pthread_rwlock_rdlock(&l);
    sum[0] = x;
    pthread_rwlock_unlock(&l);
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
