// One writer and N readers of one atomic variable. Expected executions: 2^N (8192 for N = 13).
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 13
#endif

atomic_int x;

void *write_it(void *arg)
{
    atomic_store(&x, 1);
    return 0;
}

void *read_it(void *arg)
{
    (void)atomic_load(&x);
    return 0;
}

int main(void)
{
    pthread_t t[N + 1];
    pthread_create(&t[0], 0, write_it, 0);
    for (int i = 1; i <= N; i++)
        pthread_create(&t[i], 0, read_it, 0);
    for (int i = 0; i <= N; i++)
        pthread_join(t[i], 0);
    return 0;
}
