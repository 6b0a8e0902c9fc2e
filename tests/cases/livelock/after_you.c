// check: --max-events 500 --max-executions 20
// verdict: incomplete
// exit: 3

// Two threads raise and lower their flags for ever. Each round writes, so it is no busy waiting
// that could be removed. A bound ends the search, and the verdict is incomplete.
#include <pthread.h>
#include <stdatomic.h>

atomic_int flag[2];

static void *meet(void *arg)
{
    int i = *(int *)arg;
    for (;;) {
        atomic_store(&flag[i], 1);
        if (atomic_load(&flag[1 - i]) > 1)
            return NULL;
        atomic_store(&flag[i], 0);
    }
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
