// check: --strategy stateful
// verdict: bug
// finding: assertion
// check:
// verdict: bug
// finding: assertion
// check: --strategy optimal
// verdict: bug
// executions: 24
// finding: assertion

// `choose` forgets its choice if it reads 1. Behind that read all choices lead to one state, which is known
// when the second choice is tried. The exchange was explored before the choice, and is asleep there. But the
// exchange behind the read of `look` and before that of `choose` is another one. 24 traces: if the exchange comes
// behind the store, it succeeds, `choose` reads before or behind it, and `look` before the store, behind the
// exchange, or between: 6. If it comes before, it fails, and `look` reads before or behind the store: 2. Each
// with 3 choices.

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#include "../../../share/raddle.h"

static atomic_int x;
static int kept, seen;

static void *change(void *arg) {
    int one = 1;
    atomic_compare_exchange_strong(&x, &one, 2);
    return arg;
}

static void *choose(void *arg) {
    atomic_store(&x, 1);
    kept = RADDLE_CHOOSE(3);
    if (atomic_load(&x) == 1) kept = 0;
    return arg;
}

static void *look(void *arg) {
    seen = atomic_load(&x) == 1;
    return arg;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, change, NULL);
    pthread_create(&threads[1], NULL, choose, NULL);
    pthread_create(&threads[2], NULL, look, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    assert(!(kept == 2 && seen));
}
