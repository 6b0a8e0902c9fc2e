// flags: -D_GNU_SOURCE
// check:
// verdict: verified
// executions: 3

// Writers with deadlines, by both clocks: the reader comes first and is still inside, or is done,
// or comes last.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
int value;

static void *reader(void *arg)
{
    pthread_rwlock_rdlock(&l);
    assert(value == 0 || value == 1);
    pthread_rwlock_unlock(&l);
    return NULL;
}

int main(void)
{
    pthread_t t;
    struct timespec until;
    pthread_create(&t, NULL, reader, NULL);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    int code = pthread_rwlock_timedwrlock(&l, &until);
    assert(code == 0 || code == ETIMEDOUT);
    if (code == 0) {
        value++;
        pthread_rwlock_unlock(&l);
    }
    pthread_join(t, NULL);
    clock_gettime(CLOCK_MONOTONIC, &until);
    assert(pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &until) == 0);
    pthread_rwlock_unlock(&l);
    assert(pthread_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &until) == 0);
    pthread_rwlock_unlock(&l);
    return 0;
}
