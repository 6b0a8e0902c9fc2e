// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
// blocked: 0

// A destructor runs once per thread, at its end, with the thread's own value; it takes a lock: 2
// orders.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static pthread_key_t key;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int sum;

static void destroy(void *value)
{
    pthread_mutex_lock(&m);
    sum += *(int *)value;
    pthread_mutex_unlock(&m);
    free(value);
}

static void *work(void *arg)
{
    assert(pthread_getspecific(key) == NULL);
    int *own = malloc(sizeof *own);
    *own = *(int *)arg;
    pthread_setspecific(key, own);
    assert(pthread_getspecific(key) == own);
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    int value[2] = { 10, 32 };
    pthread_key_create(&key, destroy);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, &value[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    assert(sum == 42);
    pthread_key_delete(key);
    return 0;
}
