// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=lock-held-at-exit var=l

// A reader ends without unlocking.
#include <pthread.h>

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;

static void *work(void *arg)
{
    pthread_rwlock_rdlock(&l);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    pthread_join(t, NULL);
    return 0;
}
