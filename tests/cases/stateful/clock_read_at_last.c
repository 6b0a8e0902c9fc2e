// check:
// verdict: bug
// finding: assertion
// check: --strategy stateful
// verdict: bug
// finding: assertion
// check: --strategy optimal
// verdict: bug
// finding: assertion

// One thread sleeps for an hour if it comes before another one. The two states behind differ in
// nothing but the time, which is read only if two others have come in the order that is tried last.
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t m, n;
static int is_set, order;

static void *sleeps(void *unused)
{
    pthread_mutex_lock(&m);
    int is_first = !is_set;
    pthread_mutex_unlock(&m);
    if (is_first)
        sleep(3600);
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
    order = 2 * order + (number != NULL);
    pthread_mutex_unlock(&n);
    return number;
}

int main(void)
{
    pthread_t t[4];
    pthread_mutex_init(&m, NULL);
    pthread_mutex_init(&n, NULL);
    pthread_create(&t[0], NULL, sleeps, NULL);
    pthread_create(&t[1], NULL, sets, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    pthread_create(&t[2], NULL, orders, NULL);
    pthread_create(&t[3], NULL, orders, &order);
    for (int i = 2; i < 4; i++)
        pthread_join(t[i], NULL);
    pthread_mutex_destroy(&m);
    pthread_mutex_destroy(&n);
    /* The last thread came first. */
    if (order == 2)
        assert(time(NULL) < 1700000000 + 3600);
    return 0;
}
