// check:
// verdict: bug
// executions: 1
// findings: 1
// finding: data-race var=x detail=read-write line=14 line2=20

// A plain write and a plain read.
#include <pthread.h>

int x, copy;

static void *one(void *arg)
{
    x = 1;
    return NULL;
}

static void *two(void *arg)
{
    copy = x;
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
