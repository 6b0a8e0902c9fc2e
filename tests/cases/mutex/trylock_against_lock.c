// check:
// verdict: verified
// executions: 3
// blocked: 0

// The try comes before the lock, while it is held (and fails), or after the unlock.
#include <errno.h>
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int count;

static void *sure(void *arg)
{
    pthread_mutex_lock(&m);
    count++;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *attempt(void *arg)
{
    int status = pthread_mutex_trylock(&m);
    if (status == 0) {
        count++;
        pthread_mutex_unlock(&m);
    } else {
        assert(status == EBUSY);
    }
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, sure, NULL);
    pthread_create(&b, NULL, attempt, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(count == 1 || count == 2);
    return 0;
}
