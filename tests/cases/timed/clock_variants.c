// flags: -D_GNU_SOURCE
// check:
// verdict: verified

// The forms with an explicit clock.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static sem_t s;

static void *holder(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_rwlock_wrlock(&l);
    pthread_rwlock_unlock(&l);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t;
    struct timespec until;
    sem_init(&s, 0, 0);
    pthread_create(&t, NULL, holder, NULL);
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 1;
    int status = pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &until);
    if (status == 0) {
        status = pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &until);
        assert(status == ETIMEDOUT);
        pthread_mutex_unlock(&m);
    } else {
        assert(status == ETIMEDOUT);
    }
    status = pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &until);
    if (status == 0)
        pthread_rwlock_unlock(&l);
    assert(sem_clockwait(&s, CLOCK_MONOTONIC, &until) == -1 && errno == ETIMEDOUT);
    pthread_join(t, NULL);
    sem_destroy(&s);
    return 0;
}
