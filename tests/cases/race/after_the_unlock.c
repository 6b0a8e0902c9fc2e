// check:
// verdict: bug
// executions: 2
// finding: data-race var=x detail=read-write line=25 line2=18

// The value is read once more after the unlock, for a log line, say. If T1 comes first, its late
// read races with T2.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int x, logged;

static void *one(void *arg)
{
    pthread_mutex_lock(&m);
    x = 1;
    pthread_mutex_unlock(&m);
    logged = x;
    return NULL;
}

static void *two(void *arg)
{
    pthread_mutex_lock(&m);
    x = 2;
    pthread_mutex_unlock(&m);
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
