// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
//
// The kernel writes to memory that was not written before in this run. The two orders are those of
// the locks.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char before[8192];
    uid_t user[3];
    char between[8192];
    struct timespec interval;
    char behind[8192];
    struct timespec resolution;
} filled;

static void *ask(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&lock);
    assert(getresuid(&filled.user[0], &filled.user[1], &filled.user[2]) == 0);
    assert(sched_rr_get_interval(0, &filled.interval) == 0);
    assert(clock_getres(CLOCK_MONOTONIC, &filled.resolution) == 0);
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, ask, NULL);
    ask(NULL);
    pthread_join(thread, NULL);
    return 0;
}
