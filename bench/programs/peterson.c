// Peterson's lock, two threads with N entries each; busy waiting folded.
// Expected executions: 4, 48, 588 for N = 1 to 3.
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 3
#endif

atomic_int flag[2], turn;
int count;
int id[2];

void *enter(void *arg)
{
    int i = *(int *)arg;
    for (int round = 0; round < N; round++) {
        atomic_store(&flag[i], 1);
        atomic_store(&turn, 1 - i);
        while (atomic_load(&flag[1 - i]) && atomic_load(&turn) == 1 - i)
            ;
        count++;
        atomic_store(&flag[i], 0);
    }
    return 0;
}

int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++) {
        id[i] = i;
        pthread_create(&t[i], 0, enter, &id[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], 0);
    return 0;
}
