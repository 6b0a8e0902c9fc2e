// check: --strategy stateful
// verdict: verified
// most-runs: 1800
// check: --strategy optimal
// verdict: verified
// executions: 7668

// 3 workers take 3 items from a queue, and log each with the time: 7,668 traces. The lines that
// standard output holds make no difference, and the clocks make one only until the next lock.
#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { WORKERS = 3, ITEMS = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, out = PTHREAD_MUTEX_INITIALIZER;
static int next, sum;

static void say(int item)
{
    struct timespec now;
    pthread_mutex_lock(&out);
    clock_gettime(CLOCK_REALTIME, &now);
    printf("%ld.%09ld item %d\n", (long)now.tv_sec, now.tv_nsec, item);
    pthread_mutex_unlock(&out);
}

static void *work(void *none)
{
    for (;;) {
        pthread_mutex_lock(&lock);
        int item = next < ITEMS ? ++next : 0;
        pthread_mutex_unlock(&lock);
        if (!item)
            return none;
        say(item);
        pthread_mutex_lock(&lock);
        sum += item;
        pthread_mutex_unlock(&lock);
    }
}

int main(void)
{
    pthread_t threads[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    assert(sum == ITEMS * (ITEMS + 1) / 2);
    return 0;
}
