// check: --granularity access
// verdict: bug
// executions: 4
// finding: data-race var=x
// check:
// verdict: bug
// executions: 1
// finding: data-race var=x

// x=x+1 || x=x+1 without a lock. At access granularity as account.c with 2 threads: 4 executions.
// At sync granularity there is nothing to reorder, and one execution shows the race.
#include <pthread.h>

int x;

static void *bump(void *arg)
{
    x++;
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, bump, NULL);
    pthread_create(&b, NULL, bump, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
