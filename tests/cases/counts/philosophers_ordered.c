// check:
// flags: -DN=2
// verdict: verified
// executions: 2
// blocked: 0
// check:
// flags: -DN=3
// verdict: verified
// executions: 6
// blocked: 0
// check: --strategy dpor
// flags: -DN=5
// verdict: verified
// executions: 30
// check:
// flags: -DN=10
// verdict: verified
// executions: 1022
// blocked: 0

// N philosophers, one meal each; the last takes its forks in the other order. Each fork has two users, hence 2^N orders,
// less the two in which all wait for their neighbour around the table.
#include <pthread.h>

static pthread_mutex_t fork_[N];
int meals[N];

static void *dine(void *arg)
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
