// check: --memory rc11
// verdict: verified
// check: --memory tso
// verdict: verified
// check: --memory rc11
// flags: -DFENCE=memory_order_acq_rel
// verdict: bug
// finding: data-race detail=use-after-free
// findings: at-least
// check: --memory tso
// flags: -DFENCE=memory_order_acq_rel
// verdict: bug
// finding: data-race detail=use-after-free
// findings: at-least

// Hazard pointers (Michael, TPDS 2004): a reader announces what it uses, and looks again; main frees what it has
// replaced unless that is announced. Without a fence between the announcement and the second look, either may miss
// the other.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifndef FENCE
#define FENCE memory_order_seq_cst
#endif

static _Atomic(int *) current, announced;

static void *reader(void *arg) {
    for (;;) {
        int *used = atomic_load_explicit(&current, memory_order_relaxed);
        atomic_store_explicit(&announced, used, memory_order_relaxed);
        atomic_thread_fence(FENCE);
        if (atomic_load_explicit(&current, memory_order_acquire) == used) {
            assert(*used == 7);
            break;
        }
    }
    atomic_store_explicit(&announced, NULL, memory_order_release);
    return arg;
}

static int *made(void) {
    int *value = malloc(sizeof *value);
    *value = 7;
    return value;
}

int main(void) {
    pthread_t thread;
    atomic_init(&current, made());
    pthread_create(&thread, NULL, reader, NULL);
    int *old = atomic_exchange_explicit(&current, made(), memory_order_acq_rel);
    atomic_thread_fence(FENCE);
    if (atomic_load_explicit(&announced, memory_order_acquire) != old) {
        free(old);
        old = NULL;
    }
    pthread_join(thread, NULL);
    free(old);
    free(atomic_load_explicit(&current, memory_order_relaxed));
    return 0;
}
