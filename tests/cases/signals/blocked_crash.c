// check:
// verdict: verified
// executions: 1

// A signal that otherwise means a crash waits while it is blocked, like any other.
#include <assert.h>
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t calls;

static void handler(int number)
{
    calls++;
}

int main(void)
{
    static const int numbers[] = { SIGSYS, SIGTRAP, SIGFPE, SIGILL, SIGBUS, SIGSEGV };
    for (int i = 0; i < 6; i++) {
        sigset_t set;
        signal(numbers[i], handler);
        sigemptyset(&set);
        sigaddset(&set, numbers[i]);
        sigprocmask(SIG_BLOCK, &set, NULL);
        raise(numbers[i]);
        assert(calls == i);
        sigset_t waiting;
        sigpending(&waiting);
        assert(sigismember(&waiting, numbers[i]));
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        assert(calls == i + 1);
    }
    return 0;
}
