// check: --memory rc11
// verdict: verified
// check: --memory tso
// verdict: verified
// check: --memory rc11
// flags: -DORDER=memory_order_acq_rel
// verdict: bug
// finding: data-race var=count
// findings: at-least
// check: --memory tso
// flags: -DWEAK
// verdict: bug
// finding: data-race var=count
// findings: at-least

// Peterson's lock, with sequentially consistent operations. WEAK: relaxed ones.
#include <pthread.h>
#include <stdatomic.h>

#if defined WEAK
#define STORE memory_order_relaxed
#define LOAD memory_order_relaxed
#elif defined ORDER
#define STORE memory_order_release
#define LOAD memory_order_acquire
#else
#define STORE memory_order_seq_cst
#define LOAD memory_order_seq_cst
#endif

static atomic_int wants[2], turn;
static int count;

static void enter(int me) {
    atomic_store_explicit(&wants[me], 1, STORE);
    atomic_store_explicit(&turn, 1 - me, STORE);
    while (atomic_load_explicit(&wants[1 - me], LOAD) && atomic_load_explicit(&turn, LOAD) != me)
        ;
    count++;
    atomic_store_explicit(&wants[me], 0, STORE);
}

static void *thread(void *arg) {
    enter(1);
    return arg;
}

int main(void) {
    pthread_t other;
    pthread_create(&other, NULL, thread, NULL);
    enter(0);
    pthread_join(other, NULL);
    return 0;
}
