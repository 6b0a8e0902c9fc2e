// check:
// verdict: verified
// executions: 1

// An atomic and a plain read do not conflict.
#include <pthread.h>

int x = 5;

static void *one(void *arg)
{
    return __atomic_load_n(&x, __ATOMIC_RELAXED) ? NULL : arg;
}

static void *two(void *arg)
{
    return x ? NULL : arg;
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
