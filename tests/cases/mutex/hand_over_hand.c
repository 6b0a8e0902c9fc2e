// flags: -DTHREADS=2
// check:
// verdict: verified
// executions: 2
// blocked: 0

// Lock coupling along a list: no thread overtakes another, so the order at the first node decides
// everything.
#include <pthread.h>

#define NODES 3

struct node {
    pthread_mutex_t lock;
    int visits;
} list[NODES] = {
    { PTHREAD_MUTEX_INITIALIZER, 0 },
    { PTHREAD_MUTEX_INITIALIZER, 0 },
    { PTHREAD_MUTEX_INITIALIZER, 0 },
};

static void *walk(void *arg)
{
    pthread_mutex_lock(&list[0].lock);
    for (int i = 0; i < NODES; i++) {
        list[i].visits++;
        if (i + 1 < NODES)
            pthread_mutex_lock(&list[i + 1].lock);
        pthread_mutex_unlock(&list[i].lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, walk, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    return 0;
}
