// check: --preemptions 0
// verdict: bug
// finding: data-race var=x line=18 line2=24
// check: --preemptions 0 --strategy dfs
// verdict: bug
// finding: data-race var=x line=18 line2=24

// Nothing orders the accesses, though no thread is preempted in any run: the witness stays within
// the bound, too.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int x;

static void *left(void *arg)
{
    pthread_mutex_lock(&m);
    x = 1;
    return pthread_mutex_unlock(&m), arg;
}

static void *right(void *arg)
{
    x = 2;
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, left, NULL);
    pthread_create(&b, NULL, right, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
