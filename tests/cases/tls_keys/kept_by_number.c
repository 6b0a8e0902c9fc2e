// check: --strategy stateful
// verdict: bug
// finding: assertion detail=assert line=34
// findings: 1
// check: --strategy optimal
// verdict: bug
// finding: assertion detail=assert line=34
// findings: 1
// check:
// verdict: bug
// finding: assertion detail=assert line=34
// findings: 1

// Two threads are created in either order, and what each is given is its number in that order, which it
// keeps as thread-specific data only. So there are two states behind them, in which the same values lie
// in the same order of creation. The assertion fails in one of them only, and only if the last thread takes
// its lock first: a search that takes the two states for one misses it.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static sem_t set, go;
static pthread_key_t key;
static pthread_t x, y;
static long tickets, first;

static void *looks(void *arg)
{
    pthread_setspecific(key, arg);
    sem_post(&set);
    sem_wait(&go);
    assert(!(pthread_getspecific(key) == (void *)2 && first == 2));
    return NULL;
}

static void *waits(void *arg)
{
    pthread_setspecific(key, arg);
    sem_post(&set);
    sem_wait(&go);
    return NULL;
}

static void *creates_x(void *arg)
{
    pthread_mutex_lock(&mutex);
    pthread_create(&x, NULL, looks, (void *)++tickets);
    pthread_mutex_unlock(&mutex);
    return arg;
}

static void *creates_y(void *arg)
{
    pthread_mutex_lock(&mutex);
    pthread_create(&y, NULL, waits, (void *)++tickets);
    pthread_mutex_unlock(&mutex);
    return arg;
}

static void *comes(void *arg)
{
    pthread_mutex_lock(&other);
    if (!first)
        first = (long)arg;
    pthread_mutex_unlock(&other);
    return NULL;
}

int main(void)
{
    pthread_t p, q, c, d;
    sem_init(&set, 0, 0);
    sem_init(&go, 0, 0);
    pthread_key_create(&key, NULL);
    pthread_create(&p, NULL, creates_x, NULL);
    pthread_create(&q, NULL, creates_y, NULL);
    pthread_join(p, NULL);
    pthread_join(q, NULL);
    sem_wait(&set);
    sem_wait(&set);
    pthread_create(&c, NULL, comes, (void *)1);
    pthread_create(&d, NULL, comes, (void *)2);
    pthread_join(c, NULL);
    pthread_join(d, NULL);
    sem_post(&go);
    sem_post(&go);
    pthread_join(x, NULL);
    pthread_join(y, NULL);
    sem_destroy(&set);
    sem_destroy(&go);
    return 0;
}
