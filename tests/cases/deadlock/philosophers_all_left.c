// check:
// verdict: bug
// executions: 31
// blocked: 0
// finding: deadlock detail=cycle

// Five philosophers, all of which take the left fork first: 2^5 orders, less one that is
// impossible.
#include <pthread.h>

#define N 5

static pthread_mutex_t fork_[N];

static void *dine(void *arg)
{
    int i = *(int *)arg;
    pthread_mutex_lock(&fork_[i]);
    pthread_mutex_lock(&fork_[(i + 1) % N]);
    pthread_mutex_unlock(&fork_[(i + 1) % N]);
    pthread_mutex_unlock(&fork_[i]);
    return NULL;
}

int main(void)
{
    pthread_t t[N];
    int id[N];
    for (int i = 0; i < N; i++)
        pthread_mutex_init(&fork_[i], NULL);
    for (int i = 0; i < N; i++) {
        id[i] = i;
        pthread_create(&t[i], NULL, dine, &id[i]);
    }
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < N; i++)
        pthread_mutex_destroy(&fork_[i]);
    return 0;
}
