// compilers: gcc clang
// check:
// verdict: bug
// executions: 3
// finding: deadlock detail=cycle
// check: --strategy dpor
// verdict: bug
// executions: 3
// finding: deadlock detail=cycle

// Where writers come first, a reader that locks again waits for the writer, which waits for the
// reader. The writer begins to wait before both reads, between them (deadlock), or behind them.
#define _GNU_SOURCE
#include <pthread.h>

static pthread_rwlock_t l = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static void *writer(void *arg)
{
    pthread_rwlock_wrlock(&l);
    pthread_rwlock_unlock(&l);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, writer, NULL);
    pthread_rwlock_rdlock(&l);
    pthread_rwlock_rdlock(&l);
    pthread_rwlock_unlock(&l);
    pthread_rwlock_unlock(&l);
    pthread_join(t, NULL);
    return 0;
}
