// compilers: gcc clang
// check:
// flags: -O0
// verdict: verified
// executions: 2
// check: --strategy optimal
// flags: -O2
// verdict: verified
// executions: 2
// check: --strategy dfs
// flags: -O2
// verdict: verified
// check:
// flags: -O2 -DNEVER_EVEN
// verdict: bug
// finding: livelock detail=spin

// The reader of a sequence lock tries again while a writer is at work. The fence in its loop is neither
// progress nor a read. A trace has no failed round: the reader reads before the writer begins or after it
// is done.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_uint sequence;
static atomic_int low, high;

static void *set(void *arg)
{
    atomic_fetch_add_explicit(&sequence, 1, memory_order_acq_rel);
    atomic_store_explicit(&low, 1, memory_order_relaxed);
    atomic_store_explicit(&high, 1, memory_order_relaxed);
#ifndef NEVER_EVEN
    atomic_fetch_add_explicit(&sequence, 1, memory_order_release);
#endif
    return arg;
}

int main(void)
{
    pthread_t t;
    unsigned before, after;
    int first, second;
    pthread_create(&t, NULL, set, NULL);
    do {
        before = atomic_load_explicit(&sequence, memory_order_acquire);
        first = atomic_load_explicit(&low, memory_order_relaxed);
        second = atomic_load_explicit(&high, memory_order_relaxed);
        atomic_thread_fence(memory_order_acquire);
        after = atomic_load_explicit(&sequence, memory_order_relaxed);
    } while (before % 2 != 0 || before != after);
    assert(first == second);
    pthread_join(t, NULL);
    return 0;
}
