// check:
// verdict: verified
// executions: 2

// The data is accessed outside the lock, but only after a flag under the lock said that the other
// side is through.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int ready, data;

static void *send(void *arg)
{
    data = 42;
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *receive(void *arg)
{
    pthread_mutex_lock(&m);
    int r = ready;
    pthread_mutex_unlock(&m);
    if (r)
        assert(data == 42);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, send, NULL);
    pthread_create(&b, NULL, receive, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
