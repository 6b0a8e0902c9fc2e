// compilers: gcc clang
// check:
// verdict: bug
// executions: 1
// findings: 1
// finding: data-race var=x detail=write-write line=22 line2=28
// check: --strategy dpor
// verdict: bug
// finding: data-race var=x detail=write-write line=22 line2=28
// check: --granularity access
// verdict: bug
// executions: 2
// finding: data-race var=x detail=write-write line=22 line2=28

// Two plain writes.
#include <pthread.h>

int x;

static void *one(void *arg)
{
    x = 1;
    return NULL;
}

static void *two(void *arg)
{
    x = 2;
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
