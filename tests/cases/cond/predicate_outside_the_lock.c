// check:
// verdict: bug
// finding: deadlock detail=lost-wakeup line=18

// The flag is atomic, so there is no race; but it is set and signalled between the waiter's look
// and its wait.
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
atomic_int ready;

static void *waiter(void *arg)
{
    pthread_mutex_lock(&m);
    while (!atomic_load(&ready))
        pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *signaller(void *arg)
{
    atomic_store(&ready, 1);
    pthread_cond_signal(&c);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, waiter, NULL);
    pthread_create(&b, NULL, signaller, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
