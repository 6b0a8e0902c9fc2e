// check: --strategy stateful
// verdict: bug
// finding: assertion line=27

// The wait may time out before the signalling thread takes the lock.

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void *signal_it(void *arg) {
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return arg;
}

static void *wait_for_it(void *arg) {
    struct timespec soon = {0, 0};
    clock_gettime(CLOCK_REALTIME, &soon);
    pthread_mutex_lock(&lock);
    int error = pthread_cond_timedwait(&changed, &lock, &soon);
    assert(error != ETIMEDOUT);
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, signal_it, 0);
    pthread_create(&b, 0, wait_for_it, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
