// check:
// verdict: bug
// executions: 1
// finding: deadlock detail=all-blocked line=13 line2=13

// A barrier for three, two threads.
#include <pthread.h>

static pthread_barrier_t b;

static void *work(void *arg)
{
    pthread_barrier_wait(&b);
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    pthread_barrier_init(&b, NULL, 3);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    pthread_barrier_destroy(&b);
    return 0;
}
