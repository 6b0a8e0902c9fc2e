// check: --strategy random --seed 1 --max-executions 1000
// verdict: bug
// finding: deadlock detail=cycle line=19 line2=28
// check: --strategy pct --seed 1 --max-executions 1000
// verdict: bug
// finding: deadlock detail=cycle line=19 line2=28
// check: --strategy pos --seed 1 --max-executions 1000
// verdict: bug
// finding: deadlock detail=cycle line=19 line2=28

// A deadlock of depth 2 that every sampling strategy meets within a thousand runs.
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
