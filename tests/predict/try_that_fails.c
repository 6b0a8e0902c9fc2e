// Only where the try fails is the counter touched without the lock: the observed run never fails, a
// second round does.
// options: --rounds 0
// race: missed
// safe: hits
#include <pthread.h>

static int hits, missed;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *arg) {
    pthread_mutex_lock(&m);
    hits++;
    missed = 0;
    pthread_mutex_unlock(&m);
    return arg;
}

static void *two(void *arg) {
    if (pthread_mutex_trylock(&m) == 0) {
        hits++;
        pthread_mutex_unlock(&m);
    } else {
        missed++;
    }
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
