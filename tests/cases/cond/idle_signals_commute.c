// check:
// verdict: verified
// executions: 1
// blocked: 0

// Signals and broadcasts that find no waiter change nothing, so they commute.
#include <pthread.h>

static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

static void *poke(void *arg)
{
    pthread_cond_signal(&c);
    pthread_cond_broadcast(&c);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, poke, NULL);
    pthread_create(&b, NULL, poke, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
