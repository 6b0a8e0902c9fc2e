// check:
// verdict: bug
// findings: at-least
// finding: livelock detail=spin line=16

// Flags alone: if both are up, both wait for ever.
#include <pthread.h>
#include <stdatomic.h>

atomic_int flag[2];

static void *enter(void *arg)
{
    int i = *(int *)arg;
    atomic_store(&flag[i], 1);
    while (atomic_load(&flag[1 - i]))
        ;
    atomic_store(&flag[i], 0);
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    int id[2] = { 0, 1 };
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, enter, &id[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
