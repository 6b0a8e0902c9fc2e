// check: --strategy stateful
// verdict: verified
// check: --strategy stateful
// flags: -DWRONG
// verdict: bug
// findings: at-least
// finding: deadlock

// Two producers and two consumers, a buffer of one slot. With one condition variable for both, a
// signal may wake the wrong side.

#include <pthread.h>

enum { ITEMS = 1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
#ifdef WRONG
#define not_empty not_full
#else
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
#endif
static int full;

static void *produce(void *arg) {
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&lock);
        while (full)
            pthread_cond_wait(&not_full, &lock);
        full = 1;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

static void *consume(void *arg) {
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&lock);
        while (!full)
            pthread_cond_wait(&not_empty, &lock);
        full = 0;
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, i % 2 ? produce : consume, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], 0);
    return 0;
}
