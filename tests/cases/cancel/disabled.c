// check:
// verdict: verified
// executions: 2

// Cancellation is disabled during a section that must not be interrupted: the request comes before
// the cancellation point, or after it.
#include <assert.h>
#include <pthread.h>

int first, second;

static void *work(void *arg)
{
    int old;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    first = 1;
    pthread_testcancel();
    second = 1;
    pthread_setcancelstate(old, NULL);
    pthread_testcancel();
    return NULL;
}

int main(void)
{
    pthread_t t;
    void *result;
    pthread_create(&t, NULL, work, NULL);
    pthread_cancel(t);
    pthread_join(t, &result);
    assert(result == NULL || result == PTHREAD_CANCELED);
    assert(first && second);
    return 0;
}
