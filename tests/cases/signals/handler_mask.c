// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -O2
// verdict: verified

// While a handler runs, its own signal and those of its mask are blocked: they arrive when it
// returns. With SA_NODEFER its own is not.
#include <assert.h>
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t depth, deepest, calls, others, others_inside;

static void other(int number)
{
    others++;
    others_inside += depth != 0;
}

static int is_blocked(int number)
{
    sigset_t set;
    sigprocmask(SIG_BLOCK, NULL, &set);
    return sigismember(&set, number);
}

static void handler(int number)
{
    depth++;
    if (depth > deepest)
        deepest = depth;
    if (++calls < 3)
        raise(number);
    raise(SIGUSR2);
    assert(is_blocked(SIGUSR2));
    sigset_t pending;
    sigpending(&pending);
    assert(sigismember(&pending, SIGUSR2));
    depth--;
}

int main(void)
{
    struct sigaction action = {.sa_handler = handler};
    sigemptyset(&action.sa_mask);
    sigaddset(&action.sa_mask, SIGUSR2);
    signal(SIGUSR2, other);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    assert(calls == 3 && deepest == 1 && others == 1 && others_inside == 0);
    assert(!is_blocked(SIGUSR1) && !is_blocked(SIGUSR2));

    action.sa_flags = SA_NODEFER;
    sigaction(SIGUSR1, &action, NULL);
    calls = 0;
    raise(SIGUSR1);
    assert(calls == 3 && deepest == 3 && others_inside == 0);
    return 0;
}
