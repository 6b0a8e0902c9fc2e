// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race var=x detail=read-write line=18 line2=25
// check: --granularity access
// verdict: bug
// executions: 2
// finding: data-race var=x detail=read-write line=18 line2=25

// "The other thread will surely be through in a second."
#include <pthread.h>
#include <unistd.h>

int x, copy;

static void *writer(void *arg)
{
    x = 1;
    return NULL;
}

static void *reader(void *arg)
{
    sleep(1);
    copy = x;
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
