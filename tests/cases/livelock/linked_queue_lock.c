// check:
// verdict: verified
// check: --granularity access
// verdict: verified
// check: --granularity access --strategy dpor
// verdict: verified

// A queue lock whose nodes are on the stacks of the waiting threads and point to the next thread.
// Its loops occur in many states, and some rounds are recognised as failed only after they were
// part of an execution.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define N 3

struct place {
    _Atomic(struct place *) next;
    atomic_int waits;
};

static _Atomic(struct place *) last;
static int inside;

static void leave(struct place *mine)
{
    struct place *next = atomic_load(&mine->next), *expected = mine;
    if (!next) {
        if (atomic_compare_exchange_strong(&last, &expected, NULL))
            return;
        while (!(next = atomic_load(&mine->next)))
            ;
    }
    atomic_store(&next->waits, 0);
}

static void *enter(void *arg)
{
    struct place mine;
    atomic_init(&mine.next, NULL);
    atomic_init(&mine.waits, 1);
    struct place *before = atomic_exchange(&last, &mine);
    if (before) {
        atomic_store(&before->next, &mine);
        while (atomic_load(&mine.waits))
            ;
    }
    inside++;
    leave(&mine);
    return NULL;
}

int main(void)
{
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, enter, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert(inside == N);
    return 0;
}
