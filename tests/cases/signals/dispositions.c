// check:
// verdict: verified
// executions: 1

// The older ways to set, hold and ignore signals act like sigaction and sigprocmask.
#define _GNU_SOURCE
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include <assert.h>
#include <signal.h>

static volatile sig_atomic_t calls;

static void handler(int number)
{
    calls++;
}

int main(void)
{
    assert(sigset(SIGUSR1, handler) == SIG_DFL);
    raise(SIGUSR1);
    assert(calls == 1);
    assert(sighold(SIGUSR1) == 0);
    raise(SIGUSR1);
    assert(calls == 1);
    assert(sigrelse(SIGUSR1) == 0);
    assert(calls == 2);
    assert(sigset(SIGUSR1, SIG_HOLD) == handler);
    assert(sigset(SIGUSR1, handler) == SIG_HOLD);
    assert(sigignore(SIGUSR1) == 0);
    raise(SIGUSR1);
    assert(calls == 2);
    struct sigaction before;
    assert(signal(SIGUSR2, handler) == SIG_DFL);
    sigaction(SIGUSR2, NULL, &before);
    assert(before.sa_handler == handler && (before.sa_flags & SA_RESTART));
    return 0;
}
