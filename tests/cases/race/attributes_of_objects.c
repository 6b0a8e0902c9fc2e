// compilers: gcc clang
// check:
// verdict: bug
// findings: 4
// finding: data-race var=of_mutexes
// finding: data-race var=of_conditions
// finding: data-race var=of_rwlocks
// finding: data-race var=of_barriers

// An object is initialised with attributes that another thread changes.
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

static pthread_mutexattr_t of_mutexes;
static pthread_condattr_t of_conditions;
static pthread_rwlockattr_t of_rwlocks;
static pthread_barrierattr_t of_barriers;

static void *changes(void *unused) {
    (void)unused;
    pthread_mutexattr_settype(&of_mutexes, PTHREAD_MUTEX_RECURSIVE);
    pthread_condattr_setclock(&of_conditions, CLOCK_MONOTONIC);
    pthread_rwlockattr_setkind_np(&of_rwlocks, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_barrierattr_setpshared(&of_barriers, PTHREAD_PROCESS_PRIVATE);
    return NULL;
}

int main(void) {
    pthread_mutexattr_init(&of_mutexes);
    pthread_condattr_init(&of_conditions);
    pthread_rwlockattr_init(&of_rwlocks);
    pthread_barrierattr_init(&of_barriers);
    pthread_t thread;
    pthread_create(&thread, NULL, changes, NULL);
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    pthread_rwlock_t rwlock;
    pthread_barrier_t barrier;
    pthread_mutex_init(&mutex, &of_mutexes);
    pthread_cond_init(&condition, &of_conditions);
    pthread_rwlock_init(&rwlock, &of_rwlocks);
    pthread_barrier_init(&barrier, &of_barriers, 1);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&barrier);
    pthread_rwlock_destroy(&rwlock);
    pthread_cond_destroy(&condition);
    pthread_mutex_destroy(&mutex);
    return 0;
}
