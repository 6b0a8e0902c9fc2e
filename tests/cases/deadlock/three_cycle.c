// compilers: gcc clang
// check:
// verdict: bug
// executions: 7
// blocked: 0
// finding: deadlock detail=cycle line=20

// A cycle of three: three philosophers, all with the same hand first. 2^3 orders at the forks, less
// the one in which every thread would have to be the second at its first fork.
#include <pthread.h>

static pthread_mutex_t fork_[3] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
};

static void *dine(void *arg)
{
    int i = *(int *)arg;
    pthread_mutex_lock(&fork_[i]);
    pthread_mutex_lock(&fork_[(i + 1) % 3]);
    pthread_mutex_unlock(&fork_[(i + 1) % 3]);
    pthread_mutex_unlock(&fork_[i]);
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    int id[3] = { 0, 1, 2 };
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, dine, &id[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
