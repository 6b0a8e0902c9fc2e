// check:
// verdict: verified
// A first phase in which threads wait for each other in every way: on a condition variable, with a
// time-out, on a semaphore, at a barrier, busily. Then two threads lock twice each.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t semaphore;
static atomic_int flag;
static int ready, turns;

static void *first(void *arg)
{
    struct timespec end = {.tv_sec = 1};
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_cond_signal(&c);
    int never = 0;
    while (!never)
        if (pthread_cond_timedwait(&c, &m, &end) == ETIMEDOUT)
            never = 1;
    pthread_mutex_unlock(&m);
    sem_wait(&semaphore);
    pthread_barrier_wait(&barrier);
    while (!atomic_load(&flag))
        sched_yield();
    return arg;
}

static void *second(void *arg)
{
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&m);
        turns++;
        pthread_mutex_unlock(&m);
    }
    return arg;
}

int main(void)
{
    pthread_t t[2];
    pthread_barrier_init(&barrier, 0, 2);
    sem_init(&semaphore, 0, 0);
    pthread_create(&t[0], 0, first, 0);
    pthread_mutex_lock(&m);
    while (!ready)
        pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    sem_post(&semaphore);
    pthread_barrier_wait(&barrier);
    atomic_store(&flag, 1);
    pthread_join(t[0], 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], 0, second, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    assert(turns == 4);
    pthread_barrier_destroy(&barrier);
    sem_destroy(&semaphore);
    return 0;
}
