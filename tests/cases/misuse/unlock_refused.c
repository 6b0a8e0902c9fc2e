// compilers: gcc clang
// check:
// verdict: verified
// finding: misuse detail=unlock-not-locked var=mutex line=37 severity=warning
// finding: misuse detail=unlock-not-owner var=mutex line=19 severity=warning
// findings: 2

// A recursive mutex refuses to be unlocked by a thread that does not hold it, with a code on which a
// program may rely. One that asks for more than glibc has is not initialised.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void *other(void *arg)
{
    return pthread_mutex_unlock(&mutex) == EPERM ? NULL : arg;
}

int main(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_PROTECT);
    pthread_mutex_t unsupported;
    assert(pthread_mutex_init(&unsupported, &attributes) == ENOTSUP);
    pthread_t t;
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex);
    pthread_create(&t, NULL, other, NULL);
    pthread_join(t, NULL);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_unlock(&mutex);
    assert(pthread_mutex_unlock(&mutex) == EPERM);
    return 0;
}
