// compilers: gcc clang
// check:
// verdict: verified
// executions: 4

// Peterson's lock, one entry each, failed rounds of the wait removed. The second to write `turn`
// can leave its wait only after the first has lowered its flag; the first leaves before the second
// has raised its flag, or sees it up and the turn changed. Either thread can be the first: 2 x 2.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int flag[2], turn;
int inside;

static void *enter(void *arg)
{
    int i = *(int *)arg;
    atomic_store(&flag[i], 1);
    atomic_store(&turn, 1 - i);
    while (atomic_load(&flag[1 - i]) && atomic_load(&turn) == 1 - i)
        ;
    assert(inside == 0);
    inside = 1;
    inside = 0;
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
