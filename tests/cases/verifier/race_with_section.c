// compilers: gcc clang
// check:
// verdict: bug
// executions: 2
// finding: data-race var=x line=25 line2=34
// check: --granularity access
// verdict: bug
// finding: data-race var=x line=25 line2=34
// check: --granularity access --strategy dpor
// verdict: bug
// finding: data-race var=x line=25 line2=34
/* An access outside of sections races with one inside a section that always comes later: relaxed operations order no
   memory. The load and the store of `done` have two orders. */
#include <pthread.h>
#include <stdatomic.h>

void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);

static int x;
static atomic_int done;

static void *writer(void *unused)
{
    x = 2;
    atomic_store_explicit(&done, 1, memory_order_relaxed);
    return unused;
}

static void *reader(void *unused)
{
    if (atomic_load_explicit(&done, memory_order_relaxed)) {
        __VERIFIER_atomic_begin();
        x = x + 1;
        __VERIFIER_atomic_end();
    }
    return unused;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, 0, reader, 0);
    pthread_create(&b, 0, writer, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
