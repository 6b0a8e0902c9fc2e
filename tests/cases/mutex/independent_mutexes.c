// check:
// verdict: verified
// executions: 1
// blocked: 0

// Each thread has a mutex and a counter of its own: nothing depends on the order.
#include <pthread.h>

#define THREADS 6

struct {
    pthread_mutex_t lock;
    int count;
} slot[THREADS];

static void *work(void *arg)
{
    int i = *(int *)arg;
    pthread_mutex_lock(&slot[i].lock);
    slot[i].count++;
    pthread_mutex_unlock(&slot[i].lock);
    return NULL;
}

int main(void)
{
    pthread_t t[THREADS];
    int id[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_mutex_init(&slot[i].lock, NULL);
    for (int i = 0; i < THREADS; i++) {
        id[i] = i;
        pthread_create(&t[i], NULL, work, &id[i]);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_mutex_destroy(&slot[i].lock);
    return 0;
}
