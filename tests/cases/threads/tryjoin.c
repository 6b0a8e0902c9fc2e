// flags: -D_GNU_SOURCE
// check:
// verdict: verified
// executions: 2

// Joining without insisting: the look comes before the thread's end or after it.
#include <assert.h>
#include <errno.h>
#include <pthread.h>

int done;

static void *work(void *arg)
{
    done = 1;
    return &done;
}

int main(void)
{
    pthread_t t;
    void *result = NULL;
    pthread_create(&t, NULL, work, NULL);
    int code = pthread_tryjoin_np(t, &result);
    if (code == EBUSY)
        pthread_join(t, &result);
    else
        assert(code == 0);
    assert(result == &done && done == 1);
    return 0;
}
