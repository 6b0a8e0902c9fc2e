// check:
// verdict: bug
// finding: deadlock detail=cycle line=16 line2=30

// The wrong order is taken only if T1 finds the flag that T2 sets late.
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;
atomic_int hurry;

static void *one(void *arg)
{
    if (atomic_load(&hurry)) {
        pthread_mutex_lock(&q);
        pthread_mutex_lock(&p);
    } else {
        pthread_mutex_lock(&p);
        pthread_mutex_lock(&q);
    }
    pthread_mutex_unlock(&q);
    pthread_mutex_unlock(&p);
    return NULL;
}

static void *two(void *arg)
{
    atomic_store(&hurry, 1);
    pthread_mutex_lock(&p);
    pthread_mutex_lock(&q);
    pthread_mutex_unlock(&q);
    pthread_mutex_unlock(&p);
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
