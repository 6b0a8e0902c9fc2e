// check:
// verdict: verified
// executions: 1

// Opposite orders one after the other: the second thread starts when the first is gone.
#include <pthread.h>

static pthread_mutex_t p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *arg)
{
    pthread_mutex_lock(&p);
    pthread_mutex_lock(&q);
    pthread_mutex_unlock(&q);
    pthread_mutex_unlock(&p);
    return NULL;
}

static void *two(void *arg)
{
    pthread_mutex_lock(&q);
    pthread_mutex_lock(&p);
    pthread_mutex_unlock(&p);
    pthread_mutex_unlock(&q);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, one, NULL);
    pthread_join(t, NULL);
    pthread_create(&t, NULL, two, NULL);
    pthread_join(t, NULL);
    return 0;
}
