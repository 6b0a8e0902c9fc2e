// flags: -D_GNU_SOURCE
// check:
// verdict: verified
// executions: 2

// Joining with a deadline: in time or not, as the order wills.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

int done;

static void *work(void *arg)
{
    done = 1;
    return NULL;
}

int main(void)
{
    pthread_t t;
    struct timespec until;
    pthread_create(&t, NULL, work, NULL);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 5;
    int code = pthread_timedjoin_np(t, NULL, &until);
    if (code == ETIMEDOUT)
        pthread_join(t, NULL);
    else
        assert(code == 0);
    assert(done);
    return 0;
}
