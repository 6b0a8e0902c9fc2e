// compilers: gcc clang
// flags: -O0
// check:
// verdict: verified
// executions: 6
// check: --granularity access
// verdict: verified
// executions: 6
// check: --granularity access --strategy dpor
// verdict: verified
// executions: 6

// A queue lock of three threads: the order of the exchanges decides everything. Without
// optimisation the loop keeps the value that it reads on the stack: writing there is no progress,
// at access granularity either.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define N 3

struct place {
    atomic_int taken;
};

static struct place places[N + 1];
static _Atomic(struct place *) last = &places[N];
static int inside;

static void *enter(void *arg)
{
    struct place *mine = arg;
    atomic_store(&mine->taken, 1);
    struct place *before = atomic_exchange(&last, mine);
    while (atomic_load(&before->taken))
        ;
    inside++;
    atomic_store(&mine->taken, 0);
    return NULL;
}

int main(void)
{
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, enter, &places[i]);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert(inside == N);
    return 0;
}
