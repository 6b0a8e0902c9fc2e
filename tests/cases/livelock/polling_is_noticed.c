// check:
// verdict: incomplete

// Two rounds of polling make no progress, but a thread that only tries the lock could notice both
// of them, and not the time in between. Such rounds are left out, so the verdict is not verified.
#include <assert.h>
#include <pthread.h>
#include <sched.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_done;

static int is_held(void)
{
    if (pthread_mutex_trylock(&lock) != 0)
        return 1;
    pthread_mutex_unlock(&lock);
    return 0;
}

static void *work(void *unused)
{
    int first = is_held();
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    int second = is_held();
    assert(!first || !second);
    pthread_mutex_lock(&lock);
    is_done = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t worker;
    pthread_create(&worker, 0, work, 0);
    for (int seen = 0; !seen;) {
        pthread_mutex_lock(&lock);
        seen = is_done;
        pthread_mutex_unlock(&lock);
        sched_yield();
    }
    pthread_join(worker, 0);
    return 0;
}
