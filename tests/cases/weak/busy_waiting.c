// check: --memory rc11
// verdict: verified
// executions: 1
// check: --memory tso
// verdict: verified
// executions: 1
// check: --memory rc11
// flags: -DSTORE=memory_order_relaxed
// verdict: bug
// finding: data-race var=message
// executions: 1
// check: --memory rc11
// flags: -DNEVER
// verdict: bug
// finding: livelock detail=spin
// executions: 1
// blocked: 1
// check: --memory rc11
// flags: -DNEVER -DTWO
// verdict: bug
// finding: livelock detail=spin
// executions: 1
// check: --memory tso
// flags: -DNEVER -DTWO
// verdict: bug
// finding: livelock detail=spin
// executions: 1

// A loop that waits for a flag reads the store that ends it: there is one execution, whichever stores the
// rounds before have read. NEVER: no store ends it. A round with the
// older value ends in one with the last one, which is redundant. TWO: another thread waits, too.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef STORE
#define STORE memory_order_release
#endif

static atomic_int ready;
static int message;

static void *setter(void *arg) {
    message = 1;
#ifdef NEVER
    atomic_store_explicit(&ready, 2, STORE);
#else
    atomic_store_explicit(&ready, 1, STORE);
#endif
    return arg;
}

#ifdef TWO
static void *waiter(void *arg) {
    while (atomic_load_explicit(&ready, memory_order_acquire) != 1)
        ;
    return arg;
}
#endif

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, setter, NULL);
#ifdef TWO
    pthread_t other;
    pthread_create(&other, NULL, waiter, NULL);
#endif
    while (atomic_load_explicit(&ready, memory_order_acquire) != 1)
        ;
    assert(message == 1);
    pthread_join(thread, NULL);
#ifdef TWO
    pthread_join(other, NULL);
#endif
    return 0;
}
