// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=lock-held-at-exit var=m

// Locked twice, unlocked once: the thread ends as the owner.
#include <pthread.h>

static pthread_mutex_t m;
int count;

static void *work(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_mutex_lock(&m);
    count++;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&m, &attr);
    pthread_mutexattr_destroy(&attr);
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    pthread_join(t, NULL);
    return 0;
}
