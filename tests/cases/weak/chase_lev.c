// check: --memory rc11
// verdict: verified
// check: --memory tso
// verdict: verified
// check: --memory rc11
// flags: -DTAKE=memory_order_acq_rel
// verdict: bug
// finding: assertion detail=assert
// check: --memory tso
// flags: -DTAKE=memory_order_acq_rel
// verdict: bug
// finding: assertion detail=assert
// check: --memory rc11
// flags: -DPUSH=memory_order_acquire
// verdict: bug
// finding: assertion detail=assert

// The deque of Chase and Lev with the memory orders of Le, Pop, Cohen and Zappa Nardelli (PPoPP 2013): the owner
// pushes and takes at one end, a thief steals at the other. TAKE: without its fence the owner does not see that
// the last item is gone. PUSH: without its fence the thief may steal what is not there yet.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef TAKE
#define TAKE memory_order_seq_cst
#endif
#ifndef PUSH
#define PUSH memory_order_release
#endif
#define SIZE 4

static atomic_int top, bottom, items[SIZE], taken[3];

static void push(int item) {
    int last = atomic_load_explicit(&bottom, memory_order_relaxed);
    atomic_store_explicit(&items[last % SIZE], item, memory_order_relaxed);
    atomic_thread_fence(PUSH);
    atomic_store_explicit(&bottom, last + 1, memory_order_relaxed);
}

static int take(void) {
    int last = atomic_load_explicit(&bottom, memory_order_relaxed) - 1;
    atomic_store_explicit(&bottom, last, memory_order_relaxed);
    atomic_thread_fence(TAKE);
    int first = atomic_load_explicit(&top, memory_order_relaxed);
    int item = 0;
    if (first <= last) {
        item = atomic_load_explicit(&items[last % SIZE], memory_order_relaxed);
        if (first < last)
            return item;
        if (!atomic_compare_exchange_strong_explicit(&top, &first, first + 1, memory_order_seq_cst,
                                                     memory_order_relaxed))
            item = 0;
    }
    atomic_store_explicit(&bottom, last + 1, memory_order_relaxed);
    return item;
}

static int steal(void) {
    int first = atomic_load_explicit(&top, memory_order_acquire);
    atomic_thread_fence(memory_order_seq_cst);
    int last = atomic_load_explicit(&bottom, memory_order_acquire);
    if (first >= last)
        return 0;
    int item = atomic_load_explicit(&items[first % SIZE], memory_order_relaxed);
    if (!atomic_compare_exchange_strong_explicit(&top, &first, first + 1, memory_order_seq_cst, memory_order_relaxed))
        return 0;
    assert(item != 0);
    return item;
}

static void use(int item) {
    if (item != 0)
        assert(atomic_fetch_add_explicit(&taken[item], 1, memory_order_relaxed) == 0);
}

static void *thief(void *arg) {
    use(steal());
    use(steal());
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, thief, NULL);
    push(1);
    push(2);
    use(take());
    use(take());
    pthread_join(thread, NULL);
    return 0;
}
