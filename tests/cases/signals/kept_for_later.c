// check:
// verdict: verified

// Blocked signals to the process and to a thread are kept apart, and arrive when they are unblocked or
// taken.
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t calls;

static void handler(int number)
{
    calls++;
}

int main(void)
{
    sigset_t set;
    siginfo_t info;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    signal(SIGUSR1, handler);
    kill(getpid(), SIGUSR1);
    assert(calls == 1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    kill(getpid(), SIGUSR1);
    kill(getpid(), SIGUSR1);
    raise(SIGUSR1);
    assert(calls == 1);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    assert(calls == 3);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR1);
    assert(sigwaitinfo(&set, &info) == SIGUSR1);
    assert(info.si_signo == SIGUSR1 && info.si_code == SI_USER && info.si_pid == getpid());
    struct timespec no_time = {0, 0};
    assert(sigtimedwait(&set, NULL, &no_time) == -1 && errno == EAGAIN);
    assert(calls == 3);
    return 0;
}
