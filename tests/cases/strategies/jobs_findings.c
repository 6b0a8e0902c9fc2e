// check: --jobs 1
// verdict: bug
// executions: 3
// findings: 2
// finding: deadlock detail=cycle line=30 line2=40
// finding: assertion detail=assert line=55
// check: --jobs 3
// verdict: bug
// executions: 3
// findings: 2
// finding: deadlock detail=cycle line=30 line2=40
// finding: assertion detail=assert line=55
// check: --strategy dfs --jobs 2
// verdict: bug
// findings: 2
// finding: deadlock detail=cycle line=30 line2=40
// finding: assertion detail=assert line=55

// What is found does not depend on the number of workers.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;
static int order;

static void *one(void *arg)
{
    pthread_mutex_lock(&p);
    order = order * 2 + 1;
    pthread_mutex_lock(&q);
    pthread_mutex_unlock(&q);
    pthread_mutex_unlock(&p);
    return NULL;
}

static void *two(void *arg)
{
    pthread_mutex_lock(&q);
    int first = 1;
    pthread_mutex_lock(&p);
    order = order * 2 + 2 * first;
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
    /* 4 if the first thread comes first, else 5. */
    assert(order == 4);
    return 0;
}
