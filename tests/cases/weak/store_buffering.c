// check: --memory sc
// verdict: verified
// executions: 3
// check: --memory tso
// verdict: bug
// finding: assertion detail=assert
// executions: 4
// check: --memory rc11
// verdict: bug
// finding: assertion detail=assert
// executions: 4
// check: --memory tso
// flags: -DORDER=memory_order_seq_cst
// verdict: verified
// executions: 3
// check: --memory rc11
// flags: -DORDER=memory_order_seq_cst
// verdict: verified
// executions: 3

// Store buffering: each thread stores and then reads what the other stores. Each of the two reads has two
// stores to read. That both read the initial value needs a store that is delayed.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef ORDER
#define ORDER memory_order_relaxed
#endif

static atomic_int x, y;
static int a, b;

static void *one(void *arg) {
    atomic_store_explicit(&x, 1, ORDER);
    a = atomic_load_explicit(&y, ORDER);
    return arg;
}

static void *other(void *arg) {
    atomic_store_explicit(&y, 1, ORDER);
    b = atomic_load_explicit(&x, ORDER);
    return arg;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, one, NULL);
    pthread_create(&threads[1], NULL, other, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert(a || b);
    return 0;
}
