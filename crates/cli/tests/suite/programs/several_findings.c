// Some thousand executions with a data race, a failed assertion behind it, an unlock by a thread that does
// not hold the mutex, and a deadlock. N threads lock one of two mutexes each.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define N 3

pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
int plain;
atomic_int turns;

static void *count(void *arg)
{
    atomic_fetch_add(&turns, 1);
    pthread_mutex_lock(arg ? &a : &b);
    pthread_mutex_unlock(arg ? &a : &b);
    if (atomic_load(&turns) == 2)
        plain++;
    return 0;
}

static void *forth(void *arg)
{
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return arg;
}

int main(void)
{
    pthread_t t[N], f;
    pthread_create(&f, 0, forth, 0);
    for (long i = 0; i < N; i++)
        pthread_create(&t[i], 0, count, (void *)(i % 2));
    pthread_mutex_lock(&b);
    if (atomic_load(&turns) > 3)
        pthread_mutex_lock(&a);
    assert(plain < 2);
    pthread_mutex_unlock(&b);
    if (atomic_load(&turns) == 1)
        pthread_mutex_unlock(&a);
    return 0;
}
