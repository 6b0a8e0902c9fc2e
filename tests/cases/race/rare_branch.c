// check:
// verdict: bug
// finding: data-race var=x detail=write-write line=15 line2=22

// The race needs T1's store between T2's two loads; happens-before in most executions sees nothing.
#include <pthread.h>
#include <stdatomic.h>

atomic_int step;
int x;

static void *one(void *arg)
{
    atomic_store(&step, 1);
    x = 1;
    return NULL;
}

static void *two(void *arg)
{
    if (atomic_load(&step) == 0 && atomic_load(&step) == 1)
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
