// check:
// verdict: verified

// Main exits on purpose while a thread waits for a condition: at rest, not deadlocked.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

static void *waiter(void *arg)
{
    pthread_mutex_lock(&m);
    for (;;)
        pthread_cond_wait(&c, &m);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, waiter, NULL);
    exit(0);
}
