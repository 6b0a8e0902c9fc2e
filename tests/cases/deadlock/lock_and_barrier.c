// check:
// verdict: bug
// executions: 2
// finding: deadlock detail=all-blocked

// A thread waits at the barrier with the lock that the other needs to get there. Both orders end
// so.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t b;

static void *work(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_barrier_wait(&b);
    pthread_mutex_unlock(&m);
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
