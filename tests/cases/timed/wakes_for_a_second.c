// compilers: gcc clang
// check:
// flags: -O0
// verdict: incomplete
// findings: at-least
// check:
// flags: -O2
// verdict: incomplete
// findings: at-least
// check: --strategy dpor
// flags: -O2
// verdict: incomplete
// findings: at-least
// check: --strategy pct --max-executions 5
// flags: -O2
// verdict: incomplete
// findings: at-least

// A pool that wakes its worker for a second, or until it is gone. Time passes with each look at the
// clock, though each round makes progress, so the loop has an end in every schedule.
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_changed = PTHREAD_COND_INITIALIZER;
static int has_work;
static atomic_int is_alive = 1, is_kept = 1;

static void *work(void *arg)
{
    while (atomic_load(&is_kept)) {
        pthread_mutex_lock(&lock);
        while (!has_work)
            pthread_cond_wait(&is_changed, &lock);
        has_work = 0;
        pthread_mutex_unlock(&lock);
    }
    atomic_store(&is_alive, 0);
    return arg;
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, NULL, work, NULL);
    atomic_store(&is_kept, 0);
    time_t begun = time(NULL);
    while (time(NULL) - begun < 1 && atomic_load(&is_alive)) {
        pthread_mutex_lock(&lock);
        has_work = 1;
        pthread_cond_broadcast(&is_changed);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}
