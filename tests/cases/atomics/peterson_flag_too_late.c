// check:
// verdict: bug
// findings: at-least
// finding: data-race var=inside

// The turn is written before the flag: both can be inside.
#include <pthread.h>
#include <stdatomic.h>

atomic_int flag[2], turn;
int inside;

static void *enter(void *arg)
{
    int i = *(int *)arg;
    atomic_store(&turn, 1 - i);
    atomic_store(&flag[i], 1);
    while (atomic_load(&flag[1 - i]) && atomic_load(&turn) == 1 - i)
        ;
    inside++;
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
