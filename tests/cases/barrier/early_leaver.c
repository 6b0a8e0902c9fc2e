// check:
// verdict: bug
// findings: at-least
// finding: deadlock detail=all-blocked line=16

// Three rounds for two threads: the thread that gets the third waits at the barrier alone.
#include <pthread.h>
#include <stdatomic.h>

static pthread_barrier_t b;
atomic_int jobs = 3;

static void *work(void *arg)
{
    while (atomic_fetch_sub(&jobs, 1) > 0)
        pthread_barrier_wait(&b);
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    pthread_barrier_init(&b, NULL, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    pthread_barrier_destroy(&b);
    return 0;
}
