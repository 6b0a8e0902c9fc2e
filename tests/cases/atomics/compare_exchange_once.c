// compilers: gcc clang
// check:
// flags: -DN=2
// verdict: verified
// executions: 2
// blocked: 0
// check:
// flags: -DN=4
// verdict: verified
// executions: 4
// blocked: 0

// N threads try to be the first. The one that succeeds writes; the others fail, and failed
// exchanges are reads, which do not order each other: N executions, not N!.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int leader;
atomic_int won[N + 1];

static void *elect(void *arg)
{
    int me = *(int *)arg, nobody = 0;
    if (atomic_compare_exchange_strong(&leader, &nobody, me))
        atomic_store(&won[me], 1);
    else
        assert(nobody >= 1 && nobody <= N && nobody != me);
    return NULL;
}

int main(void)
{
    pthread_t t[N];
    int id[N], winners = 0;
    for (int i = 0; i < N; i++) {
        id[i] = i + 1;
        pthread_create(&t[i], NULL, elect, &id[i]);
    }
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    for (int i = 1; i <= N; i++)
        winners += atomic_load(&won[i]);
    assert(winners == 1);
    return 0;
}
