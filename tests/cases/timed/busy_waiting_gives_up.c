// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion detail=assert
// check:
// flags: -O2
// verdict: bug
// finding: assertion detail=assert
// check:
// flags: -DUNDER_A_LOCK
// verdict: bug
// finding: assertion detail=assert

// Busy waiting that gives up at a certain time: a round that looks at the clock is not like the one
// before it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#ifdef UNDER_A_LOCK
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_done;

static int look(void)
{
    pthread_mutex_lock(&lock);
    int seen = is_done;
    pthread_mutex_unlock(&lock);
    return seen;
}

static void tell(void)
{
    pthread_mutex_lock(&lock);
    is_done = 1;
    pthread_mutex_unlock(&lock);
}
#else
static atomic_int is_done;

static int look(void)
{
    return atomic_load(&is_done);
}

static void tell(void)
{
    atomic_store(&is_done, 1);
}
#endif

static void *work(void *unused)
{
    tell();
    return unused;
}

static long milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int main(void)
{
    pthread_t worker;
    long deadline = milliseconds() + 10;
    pthread_create(&worker, 0, work, 0);
    int is_in_time = 0;
    while (!is_in_time && milliseconds() < deadline)
        is_in_time = look();
    assert(is_in_time);
    pthread_join(worker, 0);
    return 0;
}
