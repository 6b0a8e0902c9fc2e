// Two readers that write: the lock lets them in together. The section of a writer in between orders
// them by chance.
// race: x
// safe: y
#include <pthread.h>

static int x, y;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;

static void *one(void *arg) {
    pthread_rwlock_rdlock(&l);
    x++;
    pthread_rwlock_unlock(&l);
    pthread_rwlock_wrlock(&l);
    y++;
    pthread_rwlock_unlock(&l);
    return arg;
}

static void *two(void *arg) {
    pthread_rwlock_wrlock(&l);
    y++;
    pthread_rwlock_unlock(&l);
    pthread_rwlock_rdlock(&l);
    x++;
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
