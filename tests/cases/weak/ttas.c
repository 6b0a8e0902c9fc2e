// check: --memory rc11
// verdict: verified
// executions: 4
// check: --memory tso
// verdict: verified
// executions: 4
// check: --memory rc11
// flags: -DRELEASE=memory_order_relaxed
// verdict: bug
// finding: data-race var=count
// findings: at-least
// check: --memory rc11
// flags: -DACQUIRE=memory_order_relaxed
// verdict: bug
// finding: data-race var=count
// findings: at-least

// A lock of test, test and set. Either thread comes first, and the other one may have seen the lock free, so that its
// exchange fails once.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef RELEASE
#define RELEASE memory_order_release
#endif
#ifndef ACQUIRE
#define ACQUIRE memory_order_acquire
#endif

static atomic_int held;
static int count;

static void *add(void *arg) {
    do {
        while (atomic_load_explicit(&held, memory_order_relaxed))
            ;
    } while (atomic_exchange_explicit(&held, 1, ACQUIRE));
    count++;
    atomic_store_explicit(&held, 0, RELEASE);
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, add, NULL);
    add(NULL);
    pthread_join(thread, NULL);
    assert(count == 2);
    return 0;
}
