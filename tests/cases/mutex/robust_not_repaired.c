// check:
// verdict: bug
// finding: assertion detail=assert line=41

// The owner's death is noticed and nothing done about it: nobody can use the mutex any more.
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
    // Right if the one who ignores came first.
    assert(code != ENOTRECOVERABLE);
    pthread_mutex_unlock(&m);
    pthread_mutex_destroy(&m);
    return 0;
}
