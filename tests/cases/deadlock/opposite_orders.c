// compilers: gcc clang
// check:
// verdict: bug
// executions: 3
// blocked: 0
// finding: deadlock detail=cycle line=22 line2=32
// check: --strategy dpor
// verdict: bug
// executions: 3
// finding: deadlock detail=cycle line=22 line2=32

// AB-BA. T1 goes through first, T2 goes through first, or each has one lock: 3 executions, one of
// them the deadlock.
#include <pthread.h>

static pthread_mutex_t p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;
int x;

static void *one(void *arg)
{
    pthread_mutex_lock(&p);
    pthread_mutex_lock(&q);
    x++;
    pthread_mutex_unlock(&q);
    pthread_mutex_unlock(&p);
    return NULL;
}

static void *two(void *arg)
{
    pthread_mutex_lock(&q);
    pthread_mutex_lock(&p);
    x++;
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
