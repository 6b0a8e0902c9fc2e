// Long local work, little sharing: N threads compute for ITERATIONS rounds on their own and then
// add to a total under a lock. Expected executions: N! (6 for N = 3).
#include <pthread.h>

#ifndef N
#define N 3
#endif
#ifndef ITERATIONS
#define ITERATIONS 1000000
#endif

pthread_mutex_t m;
unsigned total;
int id[N];

void *work(void *arg)
{
    unsigned value = *(int *)arg + 1;
    for (int i = 0; i < ITERATIONS; i++)
        value = value * 1103515245u + 12345u;
    pthread_mutex_lock(&m);
    total += value;
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void)
{
    pthread_t t[N];
    pthread_mutex_init(&m, 0);
    for (int i = 0; i < N; i++) {
        id[i] = i;
        pthread_create(&t[i], 0, work, &id[i]);
    }
    for (int i = 0; i < N; i++)
        pthread_join(t[i], 0);
    pthread_mutex_destroy(&m);
    return 0;
}
