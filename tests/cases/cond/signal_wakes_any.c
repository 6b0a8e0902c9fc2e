// check:
// verdict: bug
// finding: assertion detail=assert line=24

// A signal may wake either waiter: the assertion that it is always the first one is wrong.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static pthread_cond_t all_asleep = PTHREAD_COND_INITIALIZER;
int asleep, first, woken;

static void *waiter(void *arg)
{
    int me = *(int *)arg;
    pthread_mutex_lock(&m);
    if (++asleep == 1)
        first = me;
    else
        pthread_cond_signal(&all_asleep);
    pthread_cond_wait(&wake, &m);
    if (++woken == 1)
        assert(me == first);
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    int one = 1, two = 2;
    pthread_create(&a, NULL, waiter, &one);
    pthread_create(&b, NULL, waiter, &two);
    pthread_mutex_lock(&m);
    while (asleep < 2)
        pthread_cond_wait(&all_asleep, &m);
    pthread_cond_signal(&wake);
    pthread_mutex_unlock(&m);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
