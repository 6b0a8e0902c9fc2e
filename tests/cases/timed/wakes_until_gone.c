// compilers: gcc clang
// check:
// flags: -O0 -DRACY
// verdict: bug
// finding: data-race var=is_alive
// check:
// flags: -O0
// verdict: incomplete
// check:
// flags: -O2
// verdict: incomplete
// check: --strategy dpor
// flags: -O2
// verdict: incomplete
// check: --strategy pct --max-executions 5
// flags: -O2
// verdict: incomplete
// check: --strategy random --max-executions 5
// flags: -O2
// verdict: incomplete

// A thread that wakes another one again and again until that is gone. Each round writes and wakes,
// so none is left out, and there is no greatest number of rounds. After a few rounds without an effect
// the search stops and says so. A fair schedule leaves the thread after a while: the other thread
// ends, and so does every run.
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_changed = PTHREAD_COND_INITIALIZER;
static int is_ready;
#ifdef RACY
volatile int is_alive = 1;
#else
atomic_int is_alive = 1;
#endif

static void *work(void *arg)
{
    pthread_mutex_lock(&lock);
    while (!is_ready)
        pthread_cond_wait(&is_changed, &lock);
    pthread_mutex_unlock(&lock);
    is_alive = 0;
    return arg;
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    while (is_alive) {
        pthread_mutex_lock(&lock);
        is_ready = 1;
        pthread_cond_broadcast(&is_changed);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(worker, NULL);
    return 0;
}
