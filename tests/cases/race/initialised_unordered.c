// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race detail=init-destroy
// check:
// flags: -DRWLOCK
// verdict: bug
// finding: data-race detail=init-destroy
// check:
// flags: -DSEMAPHORE
// verdict: bug
// finding: data-race detail=init-destroy
// check:
// flags: -DCOND
// verdict: bug
// finding: data-race detail=init-destroy
// check:
// flags: -DSPIN
// verdict: bug
// finding: data-race detail=init-destroy
// check:
// flags: -DBARRIER
// verdict: bug
// finding: data-race detail=init-destroy
// check:
// flags: -DATTRIBUTES
// verdict: bug
// finding: data-race detail=write-write
// check:
// flags: -DORDERED
// verdict: verified
// executions: 2

// Initialising a synchronising object is a write of it. The flag says that it was done, but orders
// nothing.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>

#if defined RWLOCK
static pthread_rwlock_t object;
#define INIT() pthread_rwlock_init(&object, NULL)
#define USE() (pthread_rwlock_rdlock(&object), pthread_rwlock_unlock(&object))
#define DESTROY() pthread_rwlock_destroy(&object)
#elif defined SEMAPHORE
static sem_t object;
#define INIT() sem_init(&object, 0, 1)
#define USE() sem_wait(&object)
#define DESTROY() sem_destroy(&object)
#elif defined COND
static pthread_cond_t object;
#define INIT() pthread_cond_init(&object, NULL)
#define USE() pthread_cond_broadcast(&object)
#define DESTROY() pthread_cond_destroy(&object)
#elif defined SPIN
static pthread_spinlock_t object;
#define INIT() pthread_spin_init(&object, 0)
#define USE() (pthread_spin_lock(&object), pthread_spin_unlock(&object))
#define DESTROY() pthread_spin_destroy(&object)
#elif defined BARRIER
static pthread_barrier_t object;
#define INIT() pthread_barrier_init(&object, NULL, 1)
#define USE() pthread_barrier_wait(&object)
#define DESTROY() pthread_barrier_destroy(&object)
#elif defined ATTRIBUTES
static pthread_attr_t object;
#define INIT() pthread_attr_init(&object)
#define USE() pthread_attr_setdetachstate(&object, PTHREAD_CREATE_JOINABLE)
#define DESTROY() pthread_attr_destroy(&object)
#else
static pthread_mutex_t object;
#define INIT() pthread_mutex_init(&object, NULL)
#define USE() (pthread_mutex_lock(&object), pthread_mutex_unlock(&object))
#define DESTROY() pthread_mutex_destroy(&object)
#endif

#ifdef ORDERED
#define PUBLISH memory_order_release
#define OBSERVE memory_order_acquire
#else
#define PUBLISH memory_order_relaxed
#define OBSERVE memory_order_relaxed
#endif

static atomic_int ready;

static void *maker(void *arg)
{
    INIT();
    atomic_store_explicit(&ready, 1, PUBLISH);
    return arg;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, maker, NULL);
    if (atomic_load_explicit(&ready, OBSERVE))
        USE();
    pthread_join(t, NULL);
    DESTROY();
    return 0;
}
