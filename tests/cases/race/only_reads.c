// check:
// verdict: verified
// executions: 1
// check: --granularity access
// verdict: verified
// executions: 1

// Reads do not conflict.
#include <pthread.h>

int x = 3;

static void *look(void *arg)
{
    return x == 3 ? NULL : arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, look, NULL);
    pthread_create(&b, NULL, look, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
