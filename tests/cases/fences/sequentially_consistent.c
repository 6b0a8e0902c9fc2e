// compilers: gcc clang
// check:
// verdict: verified
// executions: 3
// blocked: 0

// Store buffering with full fences: a fence touches no object and adds no choice, so 3 as without.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int x, y;
int r, s;

static void *left(void *arg)
{
    atomic_store_explicit(&x, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    r = atomic_load_explicit(&y, memory_order_relaxed);
    return NULL;
}

static void *right(void *arg)
{
    atomic_store_explicit(&y, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst);
    s = atomic_load_explicit(&x, memory_order_relaxed);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, left, NULL);
    pthread_create(&b, NULL, right, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(r == 1 || s == 1);
    return 0;
}
