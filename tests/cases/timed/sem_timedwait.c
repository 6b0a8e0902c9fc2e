// check:
// verdict: verified
// executions: 2
// blocked: 0

// The wait times out before the post, or succeeds after it.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

static sem_t s;

static void *waiter(void *arg)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    if (sem_timedwait(&s, &until) != 0)
        assert(errno == ETIMEDOUT);
    return NULL;
}

static void *poster(void *arg)
{
    sem_post(&s);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    sem_init(&s, 0, 0);
    pthread_create(&a, NULL, waiter, NULL);
    pthread_create(&b, NULL, poster, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    sem_destroy(&s);
    return 0;
}
