// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=lock-held-at-exit var=m
// finding: deadlock detail=all-blocked line=14

// The same by pthread_exit; and the next thread waits for an owner that is gone.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_exit(NULL);
}

int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
