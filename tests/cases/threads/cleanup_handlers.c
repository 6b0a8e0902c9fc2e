// check:
// verdict: verified
// executions: 2

// pthread_exit runs the cleanup handlers, which unlock.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int count;

static void unlock(void *arg)
{
    pthread_mutex_unlock(arg);
}

static void *work(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_cleanup_push(unlock, &m);
    count++;
    if (count > 0)
        pthread_exit(NULL);
    pthread_cleanup_pop(1);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(count == 2);
    return 0;
}
