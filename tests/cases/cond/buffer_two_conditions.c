// compilers: gcc clang
// check:
// flags: -DPRODUCERS=1 -DCONSUMERS=1 -DITEMS=1
// verdict: verified
// executions: 2
// blocked: 0
// check:
// flags: -DPRODUCERS=1 -DCONSUMERS=1 -DITEMS=2
// verdict: verified
// executions: 8
// blocked: 0
// check:
// flags: -DPRODUCERS=2 -DCONSUMERS=1 -DITEMS=1
// verdict: verified
// executions: 16
// blocked: 0
// check:
// flags: -DPRODUCERS=2 -DCONSUMERS=2 -DITEMS=1
// verdict: verified
// executions: 64
// blocked: 0

// A buffer of one slot with a condition variable for each direction, signal under the lock.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
int filled;

static void *producer(void *arg)
{
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&m);
        while (filled == 1)
            pthread_cond_wait(&not_full, &m);
        filled++;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

static void *consumer(void *arg)
{
    for (int i = 0; i < ITEMS * PRODUCERS / CONSUMERS; i++) {
        pthread_mutex_lock(&m);
        while (filled == 0)
            pthread_cond_wait(&not_empty, &m);
        filled--;
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(void)
{
    pthread_t p[PRODUCERS], c[CONSUMERS];
    for (int i = 0; i < PRODUCERS; i++)
        pthread_create(&p[i], NULL, producer, NULL);
    for (int i = 0; i < CONSUMERS; i++)
        pthread_create(&c[i], NULL, consumer, NULL);
    for (int i = 0; i < PRODUCERS; i++)
        pthread_join(p[i], NULL);
    for (int i = 0; i < CONSUMERS; i++)
        pthread_join(c[i], NULL);
    return 0;
}
