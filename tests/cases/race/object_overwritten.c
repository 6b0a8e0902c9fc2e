// compilers: gcc clang
// check:
// flags: -O0 -DMUTEX
// verdict: bug
// finding: data-race detail=object-overwritten var=object line=130 line2=112
// findings: at-least
// check:
// flags: -O2 -DMUTEX
// verdict: bug
// finding: data-race detail=object-overwritten var=object line=130 line2=112
// findings: at-least
// check:
// flags: -O2 -DMUTEX -DASSIGNED
// verdict: bug
// finding: data-race detail=object-overwritten var=object line=122 line2=112
// findings: at-least
// check:
// flags: -O0 -DMUTEX -DASSIGNED
// verdict: bug
// finding: data-race detail=object-overwritten var=object line=122 line2=112
// findings: at-least
// check:
// flags: -O2 -DMUTEX -DONE_BYTE
// verdict: bug
// finding: data-race detail=object-overwritten var=object line=124 line2=112
// findings: at-least
// check: --strategy optimal
// flags: -O2 -DMUTEX -DONE_BYTE
// verdict: bug
// finding: data-race detail=object-overwritten var=object line=124 line2=112
// findings: at-least
// check: --granularity access
// flags: -O2 -DMUTEX -DONE_BYTE
// verdict: bug
// finding: data-race detail=object-overwritten var=object line=124 line2=112
// findings: at-least
// check:
// flags: -O2 -DMUTEX -DWHILE_HELD
// verdict: bug
// finding: data-race detail=object-overwritten var=object line=127 line2=112
// findings: at-least
// check:
// flags: -O2 -DSPIN
// verdict: bug
// finding: data-race detail=object-overwritten var=object line=130 line2=112
// findings: at-least
// check:
// flags: -O2 -DRWLOCK
// verdict: bug
// finding: data-race detail=object-overwritten var=object line=130 line2=112
// findings: at-least
// check:
// flags: -O2 -DCOND
// verdict: bug
// finding: data-race detail=object-overwritten var=object line=130 line2=112
// findings: at-least
// check:
// flags: -O2 -DSEMAPHORE
// verdict: bug
// finding: data-race detail=object-overwritten var=object line=130 line2=112
// findings: at-least
// check:
// flags: -O2 -DBARRIER
// verdict: bug
// finding: data-race detail=object-overwritten var=object line=130 line2=112
// findings: at-least
// check:
// flags: -O2 -DONCE
// verdict: bug
// finding: data-race detail=object-overwritten var=object line=130 line2=112
// findings: at-least

// A thread uses an object while another one writes plainly to its bytes.
#include <pthread.h>
#include <semaphore.h>
#include <string.h>

static void nothing(void) {}

#if defined MUTEX
static pthread_mutex_t object = PTHREAD_MUTEX_INITIALIZER;
#define SET_UP()
#define USE() (pthread_mutex_lock(&object), pthread_mutex_unlock(&object))
#elif defined SPIN
static pthread_spinlock_t object;
#define SET_UP() pthread_spin_init(&object, 0)
#define USE() (pthread_spin_lock(&object), pthread_spin_unlock(&object))
#elif defined RWLOCK
static pthread_rwlock_t object = PTHREAD_RWLOCK_INITIALIZER;
#define SET_UP()
#define USE() (pthread_rwlock_rdlock(&object), pthread_rwlock_unlock(&object))
#elif defined COND
static pthread_cond_t object = PTHREAD_COND_INITIALIZER;
#define SET_UP()
#define USE() pthread_cond_signal(&object)
#elif defined SEMAPHORE
static sem_t object;
#define SET_UP() sem_init(&object, 0, 0)
#define USE() sem_post(&object)
#elif defined BARRIER
static pthread_barrier_t object;
#define SET_UP() pthread_barrier_init(&object, NULL, 1)
#define USE() pthread_barrier_wait(&object)
#else
static pthread_once_t object = PTHREAD_ONCE_INIT;
#define SET_UP()
#define USE() pthread_once(&object, nothing)
#endif

static void *use(void *arg)
{
    USE();
    return arg;
}

int main(void)
{
    pthread_t t;
    SET_UP();
    pthread_create(&t, NULL, use, NULL);
#if defined ASSIGNED
    object = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
#elif defined ONE_BYTE
    ((volatile char *)&object)[37] = 0;
#elif defined WHILE_HELD
    pthread_mutex_lock(&object);
    memset((char *)&object + 24, 0, 16);
    pthread_mutex_unlock(&object);
#else
    memset((void *)&object, 0, sizeof object);
#endif
    pthread_join(t, NULL);
    nothing();
    return 0;
}
