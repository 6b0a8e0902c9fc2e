// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: data-race var=stop detail=read-write line=14 line2=20

// volatile orders nothing between threads.
#include <pthread.h>

volatile int stop;

static void *one(void *arg)
{
    stop = 1;
    return NULL;
}

static void *two(void *arg)
{
    return stop ? NULL : arg;
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
