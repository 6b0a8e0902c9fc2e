// check:
// verdict: bug
// findings: at-least
// finding: data-race var=count

// The time-out is ignored.
#include <pthread.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int count;

static void *careless(void *arg)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    int status = pthread_mutex_timedlock(&m, &until);
    count++;
    if (status == 0)
        pthread_mutex_unlock(&m);
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
    pthread_create(&a, NULL, careless, NULL);
    pthread_create(&b, NULL, holder, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
