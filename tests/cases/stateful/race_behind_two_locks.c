// check: --strategy stateful
// verdict: bug
// finding: data-race var=result
// check:
// verdict: bug
// finding: data-race var=result

// The race needs the second thread to look before the first thread's second section, and to enter
// its own section before the first thread's first one. A search that is cut at a known state and
// forgets the operations below misses that order.

#include <pthread.h>

static pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER, m = PTHREAD_MUTEX_INITIALIZER;
static int x, c, result;

static void *one(void *arg) {
    pthread_mutex_lock(&l);
    x = 1;
    pthread_mutex_unlock(&l);
    result = 2;
    pthread_mutex_lock(&m);
    c = 1;
    pthread_mutex_unlock(&m);
    return arg;
}

static void *two(void *arg) {
    pthread_mutex_lock(&m);
    int done = c;
    pthread_mutex_unlock(&m);
    if (!done) {
        pthread_mutex_lock(&l);
        int seen = x;
        pthread_mutex_unlock(&l);
        if (!seen)
            result = 1;
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
