// check:
// verdict: verified
// executions: 1
// check: --granularity access
// verdict: verified
// executions: 1

// Each thread works on its own half: no race, whatever shares a cache line.
#include <pthread.h>

char cells[10];

static void *low(void *arg)
{
    for (int i = 0; i < 5; i++)
        cells[i] = 'a';
    return NULL;
}

static void *high(void *arg)
{
    for (int i = 5; i < 10; i++)
        cells[i] = 'b';
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, low, NULL);
    pthread_create(&b, NULL, high, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
