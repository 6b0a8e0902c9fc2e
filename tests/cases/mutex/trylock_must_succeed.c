// check:
// verdict: bug
// finding: assertion detail=assert line=23

// The failing try is explored, not only the lucky one.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *hold(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, hold, NULL);
    int busy = pthread_mutex_trylock(&m);
    assert(!busy);
    pthread_mutex_unlock(&m);
    pthread_join(t, NULL);
    return 0;
}
