// check:
// verdict: verified
// executions: 2
// blocked: 0

// Opposite orders, but under a common gate: tools that only compare lock orders raise a false alarm
// here.
#include <pthread.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *arg)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_lock(&p);
    pthread_mutex_lock(&q);
    pthread_mutex_unlock(&q);
    pthread_mutex_unlock(&p);
    pthread_mutex_unlock(&gate);
    return NULL;
}

static void *two(void *arg)
{
    pthread_mutex_lock(&gate);
    pthread_mutex_lock(&q);
    pthread_mutex_lock(&p);
    pthread_mutex_unlock(&p);
    pthread_mutex_unlock(&q);
    pthread_mutex_unlock(&gate);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, two, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
