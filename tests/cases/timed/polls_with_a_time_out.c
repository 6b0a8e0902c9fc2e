// compilers: gcc clang
// check:
// flags: -O0
// verdict: verified
// check:
// flags: -O2
// verdict: verified
// check: --strategy dpor
// flags: -O2
// verdict: verified
// check: --strategy pct --max-executions 20
// flags: -O0
// verdict: incomplete
// check: --strategy pct --max-executions 20
// flags: -O2
// verdict: incomplete
// check: --strategy pos --max-executions 20
// flags: -O2
// verdict: incomplete

// Two threads poll with a timed wait. With a fixed priority, one that polls would keep the thread
// that makes it ready from the lock for ever. A thread whose wait has timed out without an effect is no
// reason for the other one to time out once more, so the number of rounds has a bound.
#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_changed = PTHREAD_COND_INITIALIZER;
static int is_ready;

static void *consume(void *arg)
{
    pthread_mutex_lock(&lock);
    while (!is_ready) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        pthread_cond_timedwait(&is_changed, &lock, &until);
    }
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, consume, NULL);
    pthread_create(&b, NULL, consume, NULL);
    pthread_mutex_lock(&lock);
    is_ready = 1;
    pthread_cond_signal(&is_changed);
    pthread_mutex_unlock(&lock);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
