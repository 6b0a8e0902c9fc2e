// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=cond-wait-unlocked var=c line=14

// A wait without the mutex.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

static void *waiter(void *arg)
{
    pthread_cond_wait(&c, &m);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, waiter, NULL);
    pthread_cond_broadcast(&c);
    pthread_join(t, NULL);
    return 0;
}
