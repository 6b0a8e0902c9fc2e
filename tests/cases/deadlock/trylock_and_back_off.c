// check:
// verdict: verified

// Opposite orders with trylock, which gives up at once when the second lock is taken: no deadlock.
#include <pthread.h>

static pthread_mutex_t p = PTHREAD_MUTEX_INITIALIZER, q = PTHREAD_MUTEX_INITIALIZER;
int done[2];

static void both(pthread_mutex_t *first, pthread_mutex_t *second, int *mark)
{
    pthread_mutex_lock(first);
    if (pthread_mutex_trylock(second) == 0) {
        *mark = 1;
        pthread_mutex_unlock(second);
    }
    pthread_mutex_unlock(first);
}

static void *one(void *arg)
{
    both(&p, &q, &done[0]);
    return NULL;
}

static void *two(void *arg)
{
    both(&q, &p, &done[1]);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, two, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
