// check: --strategy stateful
// verdict: bug
// finding: livelock

// A ticket lock whose second user lets no other in if it comes first: the others wait for ever.
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

static atomic_int tickets, turn;
static int counter;

static void *enter(void *arg)
{
    int mine = atomic_fetch_add(&tickets, 1);
    while (atomic_load(&turn) != mine)
        ;
    counter++;
    if (arg == NULL || mine > 0)
        atomic_store(&turn, mine + 1);
    return NULL;
}

int main(void)
{
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, enter, i == 1 ? &counter : NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
