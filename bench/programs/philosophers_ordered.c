// N philosophers, one meal each; the last takes its forks in the other order, so there is no
// deadlock. Expected executions: 2^N - 2 (1022 for N = 10).
#include <pthread.h>

#ifndef N
#define N 10
#endif

pthread_mutex_t fork_[N];
int meals[N];
int id[N];

void *dine(void *arg)
{
    int i = *(int *)arg;
    int first = i, second = (i + 1) % N;
    if (i == N - 1) {
        first = (i + 1) % N;
        second = i;
    }
    pthread_mutex_lock(&fork_[first]);
    pthread_mutex_lock(&fork_[second]);
    meals[i]++;
    pthread_mutex_unlock(&fork_[second]);
    pthread_mutex_unlock(&fork_[first]);
    return 0;
}

int main(void)
{
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_mutex_init(&fork_[i], 0);
    for (int i = 0; i < N; i++) {
        id[i] = i;
        pthread_create(&t[i], 0, dine, &id[i]);
    }
    for (int i = 0; i < N; i++)
        pthread_join(t[i], 0);
    for (int i = 0; i < N; i++)
        pthread_mutex_destroy(&fork_[i]);
    return 0;
}
