// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=lock-held-at-exit var=m

// An early return forgets the unlock.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int count;

static void *work(void *arg)
{
    pthread_mutex_lock(&m);
    if (++count == 1)
        return NULL;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    pthread_join(t, NULL);
    return 0;
}
