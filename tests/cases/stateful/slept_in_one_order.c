// check: --strategy stateful
// verdict: bug
// finding: assertion
// check:
// verdict: bug
// finding: assertion
// check: --strategy optimal
// verdict: bug
// finding: assertion
// check: --strategy stateful
// flags: -DREADS
// verdict: bug
// finding: assertion
// check:
// flags: -DREADS
// verdict: bug
// finding: assertion
// check: --strategy optimal
// flags: -DREADS
// verdict: bug
// finding: assertion

// A thread sleeps if it takes a lock behind another one. The states behind the two orders hold the
// same data and differ in its clock, which it reads if three others have come in the order that is
// tried last. With READS it sleeps in one order and reads its clock three times in the other: the
// clocks show the same, but a fourth reading without progress advances it by more than a first one.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, n = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int is_set, order;

/* By which a reading advances the clock. */
enum { TICK = 1037 };
#ifdef READS
enum { READINGS = 3, LIMIT = 10 * TICK };
#else
enum { LIMIT = 2000000 };
#endif

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
#ifdef READS
    if (is_second) {
        for (int i = 0; i < READINGS; i++)
            time(NULL);
    } else {
        nanosleep(&(struct timespec){ 0, READINGS * TICK }, NULL);
    }
#else
    if (is_second)
        usleep(2000);
#endif
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    /* The one that is tried last comes first. */
    if (order == 321)
        assert(now() < LIMIT);
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
