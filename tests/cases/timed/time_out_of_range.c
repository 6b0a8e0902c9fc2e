// compilers: gcc clang
// check:
// verdict: verified

// A timed lock looks at its time only where it would have to wait: a mutex that is free is locked,
// whatever the time. One that is held is refused.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *tries(void *unused) {
    struct timespec never = {0, 2000000000};
    int code = pthread_mutex_timedlock(&mutex, &never);
    assert(code == 0 || code == EINVAL);
    if (code == 0)
        pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    struct timespec never = {0, -1};
    assert(pthread_mutex_timedlock(&mutex, &never) == 0);
    assert(pthread_mutex_timedlock(&mutex, &never) == EINVAL);
    pthread_t thread;
    pthread_create(&thread, NULL, tries, NULL);
    pthread_mutex_unlock(&mutex);
    pthread_join(thread, NULL);
    return 0;
}
