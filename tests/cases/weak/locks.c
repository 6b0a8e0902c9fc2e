// check: --memory rc11
// verdict: verified
// check: --memory tso
// verdict: verified
// check: --memory rc11
// flags: -DRELEASE=memory_order_relaxed
// verdict: bug
// finding: data-race var=count
// findings: at-least

// A ticket lock, and a lock of test and set, around plain counters.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef RELEASE
#define RELEASE memory_order_release
#endif

static atomic_uint next, serving;
static atomic_int taken;
static int count, other;

static void add(void) {
    unsigned ticket = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed);
    while (atomic_load_explicit(&serving, memory_order_acquire) != ticket)
        ;
    count++;
    atomic_store_explicit(&serving, ticket + 1, RELEASE);
    while (atomic_exchange_explicit(&taken, 1, memory_order_acquire))
        ;
    other++;
    atomic_store_explicit(&taken, 0, memory_order_release);
}

static void *thread(void *arg) {
    add();
    return arg;
}

int main(void) {
    pthread_t thread_id;
    pthread_create(&thread_id, NULL, thread, NULL);
    add();
    pthread_join(thread_id, NULL);
    assert(count == 2 && other == 2);
    return 0;
}
