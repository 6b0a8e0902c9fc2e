// check:
// verdict: bug
// finding: crash detail=SIGFPE line=15

// The divisor may be zero by the time it is used.
#include <pthread.h>
#include <stdatomic.h>

atomic_int divisor = 4;
int result;

static void *divide(void *arg)
{
    int d = atomic_load(&divisor);
    result = 100 / d;
    return NULL;
}

static void *decrease(void *arg)
{
    atomic_store(&divisor, 0);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, divide, NULL);
    pthread_create(&b, NULL, decrease, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
