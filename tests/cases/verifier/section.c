// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
// check: --property reach
// verdict: verified
// check: --property reach --strategy dpor
// verdict: verified
// check: --property reach --jobs 2
// flags: -O2
// verdict: verified
// check: --property reach
// flags: -DTORN
// verdict: bug
// finding: assertion detail=assert
// check:
// flags: -DTORN
// verdict: bug
// findings: at-least
// finding: data-race
/* At sync granularity there are two orders of the two sections. */
#include <assert.h>
#include <pthread.h>

void __VERIFIER_atomic_begin(void);
void __VERIFIER_atomic_end(void);

static int x, y;

void __VERIFIER_atomic_both(void);
void __VERIFIER_atomic_both(void)
{
    x = x + 1;
    /* They may be nested. */
    __VERIFIER_atomic_begin();
    y = y + 1;
    __VERIFIER_atomic_end();
}

static void *writer(void *unused)
{
    __VERIFIER_atomic_both();
    return unused;
}

static void *reader(void *unused)
{
    __VERIFIER_atomic_begin();
    int a = x, b = y;
    __VERIFIER_atomic_end();
    assert(a == b);
#ifdef TORN
    /* Outside of a section the other one may come in between. */
    a = x;
    b = y;
    assert(a == b);
#endif
    return unused;
}

int main(void)
{
    pthread_t first, second;
    pthread_create(&first, 0, writer, 0);
    pthread_create(&second, 0, reader, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return 0;
}
