// compilers: gcc clang
// check:
// verdict: verified

// A thread that waits for a condition is cancelled: its handler gives the mutex back.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int cleaned;

static void clean(void *arg)
{
    cleaned = 1;
    pthread_mutex_unlock(&m);
}

static void *waiter(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_cleanup_push(clean, NULL);
    for (;;)
        pthread_cond_wait(&c, &m);
    pthread_cleanup_pop(1);
    return NULL;
}

int main(void)
{
    pthread_t t;
    void *result;
    pthread_create(&t, NULL, waiter, NULL);
    pthread_cancel(t);
    pthread_join(t, &result);
    assert(result == PTHREAD_CANCELED);
    assert(cleaned);
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return 0;
}
