// check:
// verdict: bug
// findings: at-least
// finding: data-race var=count
// finding: misuse detail=unlock-not-owner var=m line=26

// The result of trylock is ignored: the thread goes on without the lock, and unlocks what is not
// its own.
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

static void *careless(void *arg)
{
    pthread_mutex_trylock(&m);
    count++;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, sure, NULL);
    pthread_create(&b, NULL, careless, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
