// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -DTOO_MANY=1
// verdict: bug
// finding: livelock detail=spin

// Two threads count up, main polls until both have. In the second run it waits for a third, and the
// loop never ends.
#include <pthread.h>
#include <sched.h>

#ifndef TOO_MANY
#define TOO_MANY 0
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int done;

static void *work(void *unused)
{
    pthread_mutex_lock(&lock);
    done++;
    pthread_mutex_unlock(&lock);
    return unused;
}

static int count(void)
{
    pthread_mutex_lock(&lock);
    int seen = done;
    pthread_mutex_unlock(&lock);
    return seen;
}

int main(void)
{
    pthread_t workers[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&workers[i], 0, work, 0);
    while (count() < 2 + TOO_MANY)
        sched_yield();
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i], 0);
    return 0;
}
