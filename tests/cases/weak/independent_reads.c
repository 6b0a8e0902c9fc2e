// check: --memory sc
// verdict: verified
// executions: 15
// check: --memory tso
// verdict: verified
// executions: 15
// check: --memory rc11
// verdict: bug
// finding: assertion detail=assert
// executions: 16
// check: --memory rc11
// flags: -DLOAD=memory_order_seq_cst -DSTORE=memory_order_seq_cst
// verdict: verified
// executions: 15

// Independent reads of independent writes. Four reads with two stores each; that the readers see the two
// stores in different orders needs a memory that is not the same for all.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef STORE
#define STORE memory_order_release
#endif
#ifndef LOAD
#define LOAD memory_order_acquire
#endif

static atomic_int x, y;
static int seen[2][2];

static void *write_x(void *arg) {
    atomic_store_explicit(&x, 1, STORE);
    return arg;
}

static void *write_y(void *arg) {
    atomic_store_explicit(&y, 1, STORE);
    return arg;
}

static void *read_x_y(void *arg) {
    seen[0][0] = atomic_load_explicit(&x, LOAD);
    seen[0][1] = atomic_load_explicit(&y, LOAD);
    return arg;
}

static void *read_y_x(void *arg) {
    seen[1][0] = atomic_load_explicit(&y, LOAD);
    seen[1][1] = atomic_load_explicit(&x, LOAD);
    return arg;
}

int main(void) {
    void *(*const bodies[])(void *) = {write_x, write_y, read_x_y, read_y_x};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, bodies[i], NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert(!(seen[0][0] && !seen[0][1] && seen[1][0] && !seen[1][1]));
    return 0;
}
