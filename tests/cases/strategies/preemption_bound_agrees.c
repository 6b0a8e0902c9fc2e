// check: --preemptions 1 --strategy dfs
// verdict: bug
// finding: deadlock detail=cycle line=25 line2=34
// check: --preemptions 1 --strategy dpor
// verdict: bug
// finding: deadlock detail=cycle line=25 line2=34
// check: --preemptions 1 --strategy optimal
// verdict: bug
// finding: deadlock detail=cycle line=25 line2=34
// check: --preemptions 0 --strategy dfs
// verdict: incomplete
// check: --preemptions 0 --strategy dpor
// verdict: incomplete
// check: --preemptions 0 --strategy optimal
// verdict: incomplete

// Locks in opposite orders: one preemption between the two acquisitions of a thread.
#include <pthread.h>

static pthread_mutex_t p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *arg)
{
    pthread_mutex_lock(&p);
    pthread_mutex_lock(&q);
    pthread_mutex_unlock(&q);
    pthread_mutex_unlock(&p);
    return NULL;
}

static void *two(void *arg)
{
    pthread_mutex_lock(&q);
    pthread_mutex_lock(&p);
    pthread_mutex_unlock(&p);
    pthread_mutex_unlock(&q);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, two, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
