// N threads with one locked increment each. Expected executions: N! (40320 for N = 8).
#include <assert.h>
#include <pthread.h>

#ifndef N
#define N 8
#endif

pthread_mutex_t m;
int count;

void *add(void *arg)
{
    pthread_mutex_lock(&m);
    count++;
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void)
{
    pthread_t t[N];
    pthread_mutex_init(&m, 0);
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], 0, add, 0);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], 0);
    pthread_mutex_destroy(&m);
    assert(count == N);
    return 0;
}
