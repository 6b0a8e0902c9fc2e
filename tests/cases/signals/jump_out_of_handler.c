// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -O2
// verdict: verified

// sigsetjmp keeps which signals are blocked, if it is told to; a jump out of a handler restores
// that. Otherwise the handler's signal stays blocked.
#include <assert.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

static sigjmp_buf back;
static volatile sig_atomic_t calls;

static void handler(int number)
{
    calls++;
    siglongjmp(back, 1);
}

int main(void)
{
    signal(SIGSEGV, handler);
    signal(SIGUSR1, handler);
    for (volatile int i = 0; i < 3; i++)
        if (!sigsetjmp(back, 1))
            *(volatile int *)8 = 1;
    for (volatile int i = 0; i < 3; i++)
        if (!sigsetjmp(back, 1))
            raise(SIGUSR1);
    if (!sigsetjmp(back, 0))
        raise(SIGUSR1);
    sigset_t set;
    sigprocmask(SIG_BLOCK, NULL, &set);
    assert(calls == 7 && sigismember(&set, SIGUSR1));
    return 0;
}
