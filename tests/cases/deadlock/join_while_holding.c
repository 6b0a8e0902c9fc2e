// check:
// verdict: bug
// executions: 2
// finding: deadlock detail=cycle line=24 line2=14

// Main joins a thread that needs the lock main holds. The thread may have had it before: 2
// executions.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    pthread_mutex_lock(&m);
    pthread_join(t, NULL);
    pthread_mutex_unlock(&m);
    return 0;
}
