// check:
// verdict: verified
// executions: 5
// check: --strategy dpor
// verdict: verified
// executions: 5

// A writer that waits for a time keeps readers out only until it gives up. It begins to wait before
// both reads, between them (then the second read waits until it gives up), or behind them. There it
// gives up before the first unlock or the second, or gets the lock: 1 + 1 + 3.
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

static pthread_rwlock_t l = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static void *writer(void *arg)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    if (pthread_rwlock_timedwrlock(&l, &until) == 0)
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
