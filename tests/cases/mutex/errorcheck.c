// check:
// verdict: verified
// executions: 3
// blocked: 0
// finding: misuse detail=unlock-not-locked severity=warning
// finding: misuse detail=unlock-not-owner severity=warning

// An error-checking mutex refuses what would be misuse with a defined error code, so the program is
// right. That it tries is worth a warning: most programs do not look at the result. Executions: T2's
// unlock attempt comes before T1's lock, between lock and unlock, or after.
#include <assert.h>
#include <errno.h>
#include <pthread.h>

static pthread_mutex_t m;

static void *owner(void *arg)
{
    int status = pthread_mutex_lock(&m);
    assert(status == 0);
    status = pthread_mutex_lock(&m);
    assert(status == EDEADLK);
    status = pthread_mutex_unlock(&m);
    assert(status == 0);
    return NULL;
}

static void *stranger(void *arg)
{
    int status = pthread_mutex_unlock(&m);
    assert(status == EPERM);
    return NULL;
}

int main(void)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&m, &attr);
    pthread_mutexattr_destroy(&attr);
    pthread_t a, b;
    pthread_create(&a, NULL, owner, NULL);
    pthread_create(&b, NULL, stranger, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_mutex_destroy(&m);
    return 0;
}
