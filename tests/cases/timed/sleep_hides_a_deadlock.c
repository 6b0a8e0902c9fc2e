// check:
// verdict: bug
// executions: 3
// finding: deadlock detail=cycle line=16 line2=26

// Opposite orders kept apart by two seconds: raddle finds the deadlock at once, and does not wait
// for it.
#include <pthread.h>
#include <unistd.h>

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
    sleep(2);
    pthread_mutex_lock(&q);
    pthread_mutex_lock(&p);
    pthread_mutex_unlock(&p);
    pthread_mutex_unlock(&q);
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
