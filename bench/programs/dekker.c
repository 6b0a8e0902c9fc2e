// Two threads, N rounds each of raising a flag, looking at the other's and lowering it.
// Expected executions: 7, 107, 1833, 33147 for N = 1 to 4.
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 4
#endif

atomic_int flag[2];
int inside;
int id[2];

void *contend(void *arg)
{
    int i = *(int *)arg;
    for (int round = 0; round < N; round++) {
        atomic_store(&flag[i], 1);
        if (!atomic_load(&flag[1 - i]))
            inside++;
        atomic_store(&flag[i], 0);
    }
    return 0;
}

int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++) {
        id[i] = i;
        pthread_create(&t[i], 0, contend, &id[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
