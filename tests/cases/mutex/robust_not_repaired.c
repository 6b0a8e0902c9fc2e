// check:
// verdict: bug
// finding: assertion detail=assert line=42

// The next thread learns of the owner's death and does not repair the mutex: then no thread can use
// it any more.
#include <assert.h>
#include <errno.h>
#include <pthread.h>

static pthread_mutex_t m;

static void *forgets(void *arg)
{
    pthread_mutex_lock(&m);
    return NULL;
}

static void *ignores(void *arg)
{
    if (pthread_mutex_lock(&m) != ENOTRECOVERABLE)
        pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&m, &attr);
    pthread_mutexattr_destroy(&attr);
    pthread_create(&a, NULL, forgets, NULL);
    pthread_create(&b, NULL, ignores, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    int code = pthread_mutex_lock(&m);
    if (code == EOWNERDEAD)
        pthread_mutex_consistent(&m);
    // True if the thread that ignores the error came first.
    assert(code != ENOTRECOVERABLE);
    pthread_mutex_unlock(&m);
    pthread_mutex_destroy(&m);
    return 0;
}
