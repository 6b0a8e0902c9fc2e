// check: --memory sc
// verdict: verified
// check: --memory tso
// verdict: bug
// finding: data-race var=inside
// finding: assertion detail=assert
// check: --memory rc11
// verdict: bug
// finding: data-race var=inside
// finding: assertion detail=assert
// check: --memory tso
// flags: -DFENCE
// verdict: verified
// executions: 3
// check: --memory rc11
// flags: -DFENCE
// verdict: verified
// executions: 3

// Dekker's way in, without waiting: a thread enters if the other one does not want to. Without a fence
// between the store and the load both enter.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int wants[2];
static int inside;

static void enter(int me) {
    atomic_store_explicit(&wants[me], 1, memory_order_relaxed);
#ifdef FENCE
    atomic_thread_fence(memory_order_seq_cst);
#endif
    if (!atomic_load_explicit(&wants[1 - me], memory_order_relaxed)) {
        inside++;
        assert(inside == 1);
    }
}

static void *thread(void *arg) {
    enter(1);
    return arg;
}

int main(void) {
    pthread_t other;
    pthread_create(&other, NULL, thread, NULL);
    enter(0);
    pthread_join(other, NULL);
    return 0;
}
