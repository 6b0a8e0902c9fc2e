// check: --strategy stateful
// verdict: verified
// check: --strategy stateful
// flags: -DORDER=memory_order_relaxed
// verdict: bug
// findings: at-least
// finding: data-race

// A block is handed over by an atomic pointer. Whether that orders its content depends on the memory
// order alone, which is in no state.

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifndef ORDER
#define ORDER memory_order_release
#endif

static _Atomic(int *) box;
static atomic_int turns;

static void *give(void *arg) {
    int *value = malloc(sizeof *value);
    *value = 7;
    atomic_fetch_add_explicit(&turns, 1, memory_order_relaxed);
    atomic_store_explicit(&box, value, ORDER);
    return arg;
}

static void *take(void *arg) {
    atomic_fetch_add_explicit(&turns, 1, memory_order_relaxed);
    int *value = atomic_load_explicit(&box, memory_order_acquire);
    if (value)
        *value += 1;
    return arg;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, give, 0);
    pthread_create(&b, 0, take, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    free(atomic_load(&box));
    return 0;
}
