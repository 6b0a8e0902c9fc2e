// check: --memory rc11
// verdict: verified
// check: --memory tso
// verdict: verified
// check: --memory rc11
// flags: -DWEAK
// verdict: bug
// finding: assertion detail=assert

// A sequence lock with one round of the writer, and a reader that gives up. WEAK: the reader looks at the
// number again without a fence before it, so it may have read what comes later.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int number, left, right;

static void *reader(void *arg) {
    int before = atomic_load_explicit(&number, memory_order_acquire);
    int one = atomic_load_explicit(&left, memory_order_relaxed);
    int other = atomic_load_explicit(&right, memory_order_relaxed);
#ifndef WEAK
    atomic_thread_fence(memory_order_acquire);
#endif
    int after = atomic_load_explicit(&number, memory_order_relaxed);
    if (before == after && before % 2 == 0)
        assert(one == other);
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, reader, NULL);
    atomic_store_explicit(&number, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&left, 1, memory_order_relaxed);
    atomic_store_explicit(&right, 1, memory_order_relaxed);
    atomic_store_explicit(&number, 2, memory_order_release);
    pthread_join(thread, NULL);
    return 0;
}
