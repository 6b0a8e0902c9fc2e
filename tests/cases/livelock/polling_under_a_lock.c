// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
// check:
// flags: -O2
// verdict: verified
// check:
// flags: -DRWLOCK
// verdict: verified
// executions: 2
// check: --strategy dfs
// verdict: verified

// A flag under a lock is polled. The first read comes before the flag is set or after it. Failed
// rounds are no executions of their own.
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

#ifdef RWLOCK
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
#define LOCK() pthread_rwlock_rdlock(&lock)
#define LOCK_TO_WRITE() pthread_rwlock_wrlock(&lock)
#define UNLOCK() pthread_rwlock_unlock(&lock)
#else
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#define LOCK() pthread_mutex_lock(&lock)
#define LOCK_TO_WRITE() pthread_mutex_lock(&lock)
#define UNLOCK() pthread_mutex_unlock(&lock)
#endif

static int is_done, result;

static void *work(void *unused)
{
    result = 42;
    LOCK_TO_WRITE();
    is_done = 1;
    UNLOCK();
    return unused;
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, 0, work, 0);
    for (;;) {
        LOCK();
        int seen = is_done;
        UNLOCK();
        if (seen)
            break;
        usleep(1000);
    }
    assert(result == 42);
    pthread_join(worker, 0);
    return 0;
}
