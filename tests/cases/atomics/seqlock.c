// compilers: gcc clang
// check:
// verdict: verified

// A sequence lock whose data are relaxed atomics, one attempt to read: a consistent pair or a
// failed attempt.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_uint seq;
atomic_int low, high;

static void *writer(void *arg)
{
    atomic_store_explicit(&seq, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&low, 1, memory_order_relaxed);
    atomic_store_explicit(&high, 1, memory_order_relaxed);
    atomic_store_explicit(&seq, 2, memory_order_release);
    return NULL;
}

static void *reader(void *arg)
{
    unsigned before = atomic_load_explicit(&seq, memory_order_acquire);
    int l = atomic_load_explicit(&low, memory_order_relaxed);
    int h = atomic_load_explicit(&high, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    unsigned after = atomic_load_explicit(&seq, memory_order_relaxed);
    if (before == after && before % 2 == 0)
        assert(l == h);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
