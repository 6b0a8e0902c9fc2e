// flags: -D_GNU_SOURCE
// check:
// verdict: verified
// executions: 6
// blocked: 0

// The static initialiser of a recursive mutex, trylock by its owner included; three threads, 3!
// orders.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
int count;

static void *work(void *arg)
{
    pthread_mutex_lock(&m);
    int busy = pthread_mutex_trylock(&m);
    assert(!busy);
    count++;
    pthread_mutex_unlock(&m);
    count++;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    assert(count == 6);
    return 0;
}
