// compilers: gcc clang
// check:
// verdict: incomplete
// check:
// flags: -O2
// verdict: incomplete
// check: --strategy dpor
// flags: -DBY_MEMSET
// verdict: incomplete
// check: --strategy dfs
// flags: -DRWLOCK
// verdict: incomplete
// check:
// flags: -DFREE
// verdict: verified
// executions: 2

// A held lock is overwritten, and two threads compete for the new one. The model takes it for held
// when the first of them locks it, so it would never try the other order. The search must not call
// that complete. A lock that is free when it is overwritten is none of this: two orders.
#include <pthread.h>
#include <string.h>

#ifdef RWLOCK
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
#define LOCK pthread_rwlock_wrlock
#define UNLOCK pthread_rwlock_unlock
#define NEW (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER
#else
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define LOCK pthread_mutex_lock
#define UNLOCK pthread_mutex_unlock
#define NEW (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER
#endif

static int first;

static void *compete(void *arg)
{
    LOCK(&lock);
    if (first == 0)
        first = *(int *)arg;
    UNLOCK(&lock);
    return NULL;
}

int main(void)
{
    static int one = 1, two = 2;
    LOCK(&lock);
#ifdef FREE
    UNLOCK(&lock);
#endif
#ifdef BY_MEMSET
    memset(&lock, 0, sizeof lock);
#else
    lock = NEW;
#endif
    pthread_t a, b;
    pthread_create(&a, NULL, compete, &one);
    pthread_create(&b, NULL, compete, &two);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
