// check: --strategy stateful
// verdict: bug
// finding: assertion
// check:
// verdict: bug
// finding: assertion
// check: --strategy optimal
// verdict: bug
// finding: assertion

// A thread that has slept gives one lock back or another one, depending on an order. Behind both,
// memory and the clocks of all threads are the same: only at which lock a clock was left differs.
// Another thread takes one of them later and reads its clock then, if two others have come in the
// order that is tried last.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static int is_set, order;

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec % 1000 * 1000000000L + t.tv_nsec;
}

static void *leaves(void *unused)
{
    pthread_mutex_lock(&m);
    int is_first = !is_set;
    pthread_mutex_unlock(&m);
    usleep(2000);
    pthread_mutex_t *lock = is_first ? &other : &one;
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
    return unused;
}

static void *sets(void *unused)
{
    pthread_mutex_lock(&m);
    is_set = 1;
    pthread_mutex_unlock(&m);
    return unused;
}

static void *orders(void *number)
{
    pthread_mutex_lock(&n);
    order = 2 * (order ? order : 1) + (number != NULL);
    pthread_mutex_unlock(&n);
    return number;
}

static void *looks(void *unused)
{
    long start = now();
    pthread_mutex_lock(&n);
    int seen = order;
    pthread_mutex_unlock(&n);
    pthread_mutex_lock(&one);
    pthread_mutex_unlock(&one);
    /* The last thread came first, and this one behind both. */
    if (seen == 6)
        assert(now() - start < 1000000);
    return unused;
}

int main(void)
{
    pthread_t t[5];
    pthread_create(&t[0], NULL, leaves, NULL);
    pthread_create(&t[1], NULL, sets, NULL);
    pthread_create(&t[2], NULL, looks, NULL);
    pthread_create(&t[3], NULL, orders, NULL);
    pthread_create(&t[4], NULL, orders, &order);
    for (int i = 0; i < 5; i++)
        pthread_join(t[i], NULL);
    return 0;
}
