// check:
// verdict: verified
// executions: 6

// A barrier by hand: arrivals are ordered (3!), the waiting adds nothing.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int arrived;
int cell[3];

static void *work(void *arg)
{
    int i = *(int *)arg;
    cell[i] = 1;
    atomic_fetch_add(&arrived, 1);
    while (atomic_load(&arrived) != 3)
        ;
    assert(cell[0] + cell[1] + cell[2] == 3);
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    int id[3] = { 0, 1, 2 };
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, work, &id[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
