// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=lock-held-at-exit var=m line=13

// Cancelled with the mutex held, and no handler to give it back.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_testcancel();
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    pthread_cancel(t);
    pthread_join(t, NULL);
    return 0;
}
