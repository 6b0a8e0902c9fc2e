// check:
// verdict: verified
// executions: 1
// blocked: 0

// The same orders, but all four locks are read locks: no thread waits.
#include <pthread.h>

static pthread_rwlock_t p = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t q = PTHREAD_RWLOCK_INITIALIZER;

static void *one(void *arg)
{
    pthread_rwlock_rdlock(&p);
    pthread_rwlock_rdlock(&q);
    pthread_rwlock_unlock(&q);
    pthread_rwlock_unlock(&p);
    return NULL;
}

static void *two(void *arg)
{
    pthread_rwlock_rdlock(&q);
    pthread_rwlock_rdlock(&p);
    pthread_rwlock_unlock(&p);
    pthread_rwlock_unlock(&q);
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
