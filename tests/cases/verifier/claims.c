// compilers: gcc clang
// check: --property reach
// flags: -DCLAIM
// verdict: bug
// finding: assertion detail=assert
// check: --property reach
// flags: -DERROR
// verdict: bug
// finding: assertion detail=assert
// check: --property reach
// flags: -DBY_HAND
// verdict: bug
// finding: assertion detail=assert
// check: --property reach
// flags: -DABORT
// verdict: verified
// check:
// flags: -DABORT
// verdict: bug
// finding: assertion detail=abort
/* Only failed assertions count as reached; a program that aborts has just ended. */
#include <pthread.h>
#include <stdlib.h>

void __VERIFIER_assert(int condition);
void __VERIFIER_error(void);
void __VERIFIER_assume(int condition);
void __assert_fail(const char *, const char *, unsigned, const char *) __attribute__((noreturn));

static int x;

static void *thread(void *unused)
{
    x = 1;
    return unused;
}

int main(void)
{
    pthread_t other;
    pthread_create(&other, 0, thread, 0);
    pthread_join(other, 0);
#ifdef CLAIM
    __VERIFIER_assert(x == 0);
#endif
#ifdef ERROR
    if (x == 1)
        __VERIFIER_error();
#endif
#ifdef BY_HAND
    if (x == 1)
        __assert_fail("x", "file.c", 1, "main");
#endif
#ifdef ABORT
    if (x == 1)
        abort();
#endif
    __VERIFIER_assume(x == 2);
    __VERIFIER_error();
    return 0;
}
