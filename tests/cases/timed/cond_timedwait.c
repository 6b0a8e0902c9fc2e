// compilers: gcc clang
// check:
// verdict: verified
// executions: 4
// blocked: 0

// One timed wait against a section that sets the flag, with a signal after it. W- is falling
// asleep, W+ waking:
//   S W            flag seen, no wait; the signal finds no waiter
//   W- S sig W+    woken
//   W- t S sig     timed out before S's section
//   W- S t sig     timed out between S's section and its signal
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int ready;

static void *waiter(void *arg)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1;
    pthread_mutex_lock(&m);
    if (!ready) {
        int status = pthread_cond_timedwait(&c, &m, &until);
        assert(status == 0 || status == ETIMEDOUT);
    }
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *signaller(void *arg)
{
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_mutex_unlock(&m);
    pthread_cond_signal(&c);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, waiter, NULL);
    pthread_create(&b, NULL, signaller, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
