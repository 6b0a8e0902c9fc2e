// check:
// verdict: verified
// executions: 2

// The owner of a robust mutex ends: the next one learns of it and repairs what the mutex guards.
// Two orders of the two locks.
#include <assert.h>
#include <errno.h>
#include <pthread.h>

static pthread_mutex_t m;
int half_done;

static void *forgets(void *arg)
{
    int code = pthread_mutex_lock(&m);
    assert(code == 0);
    half_done = 1;
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&m, &attr);
    pthread_mutexattr_destroy(&attr);
    pthread_create(&t, NULL, forgets, NULL);
    int code = pthread_mutex_lock(&m);
    if (code == EOWNERDEAD) {
        assert(half_done);
        half_done = 0;
        assert(pthread_mutex_consistent(&m) == 0);
    } else {
        assert(code == 0 && !half_done);
    }
    pthread_mutex_unlock(&m);
    pthread_join(t, NULL);
    if (pthread_mutex_lock(&m) == EOWNERDEAD)
        pthread_mutex_consistent(&m);
    pthread_mutex_unlock(&m);
    pthread_mutex_destroy(&m);
    return 0;
}
