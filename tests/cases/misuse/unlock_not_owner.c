// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=unlock-not-owner var=m line=14

// A mutex is no semaphore: locked by main, unlocked by a thread.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_mutex_lock(&m);
    pthread_create(&t, NULL, work, NULL);
    pthread_join(t, NULL);
    return 0;
}
