// check:
// verdict: verified

// Within a thread the clock does not run backwards and a sleep takes at least its time; a time
// handed over through a lock is not in the receiver's future.
#include <assert.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
struct timespec handed;

static long nanoseconds(struct timespec t)
{
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void *work(void *arg)
{
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert(nanoseconds(after) - nanoseconds(before) >= 5000000);
    pthread_mutex_lock(&m);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert(nanoseconds(after) >= nanoseconds(handed));
    handed = after;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
