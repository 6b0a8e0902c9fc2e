// compilers: gcc clang
// check: --strategy stateful
// verdict: verified
// most-runs: 900
// check: --strategy stateful --cache 20K
// verdict: verified

// Eight threads increment under one lock. They have 8! = 40320 traces. After k of them have had the
// lock, only the set of them matters, not their order.

#include <assert.h>
#include <pthread.h>

enum { THREADS = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;

static void *increment(void *arg) {
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, increment, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
    assert(count == THREADS);
    return 0;
}
