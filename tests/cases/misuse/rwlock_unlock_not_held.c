// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=rwlock-unlock-not-held var=l line=13

// Unlocked by a thread that holds it neither for reading nor for writing.
#include <pthread.h>

static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;

static void *work(void *arg)
{
    pthread_rwlock_unlock(&l);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_rwlock_wrlock(&l);
    pthread_create(&t, NULL, work, NULL);
    pthread_join(t, NULL);
    return 0;
}
