// check:
// verdict: verified
// executions: 1

// No thread signals: the wait always times out, and the clock is then past the deadline.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

int main(void)
{
    struct timespec until, now;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    pthread_mutex_lock(&m);
    int status = pthread_cond_timedwait(&c, &m, &until);
    assert(status == ETIMEDOUT);
    clock_gettime(CLOCK_REALTIME, &now);
    assert(now.tv_sec > until.tv_sec || (now.tv_sec == until.tv_sec && now.tv_nsec >= until.tv_nsec));
    pthread_mutex_unlock(&m);
    return 0;
}
