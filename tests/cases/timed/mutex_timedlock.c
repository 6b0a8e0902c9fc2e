// compilers: gcc clang
// check:
// verdict: verified
// executions: 3
// blocked: 0

// As mutex/trylock_against_lock.c: a time-out is a failed try.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int count;

static void *patient(void *arg)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    int status = pthread_mutex_timedlock(&m, &until);
    if (status == 0) {
        count++;
        pthread_mutex_unlock(&m);
    } else {
        assert(status == ETIMEDOUT);
    }
    return NULL;
}

static void *holder(void *arg)
{
    pthread_mutex_lock(&m);
    count++;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, patient, NULL);
    pthread_create(&b, NULL, holder, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(count == 1 || count == 2);
    return 0;
}
