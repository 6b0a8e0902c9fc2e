// check: --memory sc
// verdict: verified
// executions: 3
// check: --memory tso
// verdict: verified
// executions: 3
// check: --memory rc11
// verdict: bug
// finding: assertion detail=assert line=38
// executions: 4
// check: --memory rc11
// flags: -DSTORE=memory_order_release -DLOAD=memory_order_acquire
// verdict: verified
// executions: 3
// check: --memory rc11
// flags: -DSTORE=memory_order_release
// verdict: bug
// finding: assertion detail=assert line=38
// executions: 4

// Message passing: who sees the flag shall see the message. Each of the two reads has two stores to read;
// with release and acquire, or where stores are not reordered, three of the four pairs remain.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef STORE
#define STORE memory_order_relaxed
#endif
#ifndef LOAD
#define LOAD memory_order_relaxed
#endif

static atomic_int message, flag;

static void *reader(void *arg) {
    int seen = atomic_load_explicit(&flag, LOAD), got = atomic_load_explicit(&message, memory_order_relaxed);
    assert(!seen || got);
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, reader, NULL);
    atomic_store_explicit(&message, 1, memory_order_relaxed);
    atomic_store_explicit(&flag, 1, STORE);
    pthread_join(thread, NULL);
    return 0;
}
