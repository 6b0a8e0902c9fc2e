// check:
// verdict: verified
// executions: 3
// blocked: 0

// pthread_rwlock_timedrdlock against a writer: before, during (gives up), after.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
int low, high;

static void *reader(void *arg)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    int status = pthread_rwlock_timedrdlock(&l, &until);
    if (status == 0) {
        assert(low == high);
        pthread_rwlock_unlock(&l);
    } else {
        assert(status == ETIMEDOUT);
    }
    return NULL;
}

static void *writer(void *arg)
{
    pthread_rwlock_wrlock(&l);
    low++;
    high++;
    pthread_rwlock_unlock(&l);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, reader, NULL);
    pthread_create(&b, NULL, writer, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
