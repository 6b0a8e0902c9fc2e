// check:
// verdict: verified
// executions: 3
// blocked: 0

// T1 needs a second critical section only if it came first. T1 T2 T1, T1 T1 T2 (T2 still sees 1),
// T2 T1.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int value;

static void *first(void *arg)
{
    pthread_mutex_lock(&m);
    int seen = value;
    pthread_mutex_unlock(&m);
    if (seen == 0) {
        pthread_mutex_lock(&m);
        value += 10;
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

static void *second(void *arg)
{
    pthread_mutex_lock(&m);
    value += 1;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, first, NULL);
    pthread_create(&b, NULL, second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(value == 1 || value == 11);
    return 0;
}
