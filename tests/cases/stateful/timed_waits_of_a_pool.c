// check: --strategy stateful
// verdict: verified
// most-runs: 4000
// check: --strategy optimal
// verdict: verified
// executions: 12432

// Two workers wait for work for a second, and end if there is none: whether a wait ends by a signal
// or by its time is open. 12,432 traces.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

enum { WORKERS = 2, ITEMS = 3 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int waiting, done;

static void *work(void *none)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec++;
        int code = 0;
        while (!waiting && !code)
            code = pthread_cond_timedwait(&changed, &lock, &until);
        if (!waiting)
            break;
        waiting--;
        done++;
    }
    pthread_mutex_unlock(&lock);
    return none;
}

int main(void)
{
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&lock);
        waiting++;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&lock);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    assert(waiting + done == ITEMS);
    return 0;
}
