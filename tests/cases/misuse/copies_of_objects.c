// compilers: gcc clang
// check:
// flags: -DSEMAPHORE
// verdict: bug
// findings: at-least
// finding: misuse detail=sem-uninitialised
// check:
// flags: -DBARRIER
// verdict: bug
// findings: at-least
// finding: misuse detail=barrier-uninitialised
// check:
// flags: -DMUTEX
// verdict: bug
// findings: at-least
// finding: misuse detail=mutex-uninitialised
// check:
// flags: -DRWLOCK
// verdict: bug
// findings: at-least
// finding: misuse detail=rwlock-uninitialised
// check:
// flags: -DONCE
// verdict: bug
// finding: assertion
// check:
// flags: -DFREE_ONES
// verdict: verified

// A copy of an object that is in use is no object: what the original's state says does not hold for
// it. A mutex and an rwlock that nobody holds can be copied like their static initialisers.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

static int calls;

static void counts(void) {
    calls++;
}

int main(void) {
#if defined SEMAPHORE
    sem_t first, copy;
    sem_init(&first, 0, 1);
    copy = first;
    sem_trywait(&copy);
#elif defined BARRIER
    pthread_barrier_t first, copy;
    pthread_barrier_init(&first, NULL, 1);
    copy = first;
    pthread_barrier_wait(&copy);
#elif defined MUTEX
    pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, copy;
    pthread_mutex_lock(&first);
    copy = first;
    pthread_mutex_unlock(&copy);
    pthread_mutex_unlock(&first);
#elif defined RWLOCK
    pthread_rwlock_t first = PTHREAD_RWLOCK_INITIALIZER, copy;
    pthread_rwlock_wrlock(&first);
    copy = first;
    pthread_rwlock_tryrdlock(&copy);
    pthread_rwlock_unlock(&first);
#elif defined ONCE
    static pthread_once_t first = PTHREAD_ONCE_INIT, copy;
    pthread_once(&first, counts);
    copy = first;
    pthread_once(&copy, counts);
    assert(calls == 1);
#else
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_mutex_t other = mutex;
    pthread_mutex_lock(&other);
    pthread_mutex_unlock(&other);
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_t another = rwlock;
    pthread_rwlock_wrlock(&another);
    pthread_rwlock_unlock(&another);
    pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, counts);
    pthread_once(&once, counts);
    assert(calls == 1);
#endif
    return 0;
}
