// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: assertion detail=assert line=22
// check: --strategy optimal
// verdict: bug
// findings: at-least
// finding: assertion detail=assert line=22

// A timer may go off before main returns: threads that wait for it go on in the run of which main's end
// comes first, too.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

static void *wait_for_alarm(void *arg)
{
    int number = 0;
    sigwait(arg, &number);
    assert(number != SIGALRM);
    return arg;
}

int main(void)
{
    static sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_alarm, &signals);
    struct itimerval soon = {{0, 0}, {0, 1000}};
    setitimer(ITIMER_REAL, &soon, NULL);
    return 0;
}
