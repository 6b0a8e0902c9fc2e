// check:
// verdict: bug
// executions: 1
// finding: livelock detail=spin line=15

// Two threads wait for each other's flag and raise their own afterwards.
#include <pthread.h>
#include <stdatomic.h>

atomic_int flag[2];

static void *meet(void *arg)
{
    int i = *(int *)arg;
    while (!atomic_load(&flag[1 - i]))
        ;
    atomic_store(&flag[i], 1);
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    int id[2] = { 0, 1 };
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, meet, &id[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
