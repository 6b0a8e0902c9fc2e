// check: --strategy stateful
// verdict: bug
// finding: assertion
// check:
// verdict: bug
// finding: assertion
// check: --strategy optimal
// verdict: bug
// finding: assertion

// A thread reads its clock three times or sleeps for as long: its clock shows the same. But a
// fourth reading without progress advances the clock by more than a first one. It is made when two
// others have counted.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int is_set, order;

/* By which a reading advances the clock. */
enum { TICK = 1037, READINGS = 3 };
static const struct timespec span = { 0, READINGS * TICK };

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (t.tv_sec - 1700000000) * 1000000000L + t.tv_nsec;
}

static void *first(void *unused)
{
    pthread_mutex_lock(&m);
    int is_second = is_set;
    pthread_mutex_unlock(&m);
    if (is_second) {
        time(NULL);
        time(NULL);
        time(NULL);
    } else {
        nanosleep(&span, NULL);
    }
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    /* The one that is tried last comes first. */
    if (order == 321)
        assert(now() < 10 * TICK);
    return unused;
}

static void *second(void *unused)
{
    pthread_mutex_lock(&m);
    is_set = 1;
    pthread_mutex_unlock(&m);
    return unused;
}

static void *orders(void *number)
{
    pthread_mutex_lock(&n);
    order = 10 * order + *(int *)number;
    pthread_mutex_unlock(&n);
    return number;
}

int main(void)
{
    void *(*functions[])(void *) = { first, second, orders, orders, orders };
    int numbers[] = { 0, 0, 1, 2, 3 };
    pthread_t t[5];
    pthread_mutex_lock(&gate);
    for (int i = 0; i < 5; i++)
        pthread_create(&t[i], NULL, functions[i], &numbers[i]);
    for (int i = 2; i < 5; i++)
        pthread_join(t[i], NULL);
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
