// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -DMASKED
// verdict: verified

// Two signals are pending when sigsuspend begins. Both handlers run, and the mask from before is back.
// MASKED: the first handler blocks the other signal, so its handler does not run before the next call.
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t first, second;

static void first_handler(int number)
{
    first++;
}

static void second_handler(int number)
{
    second++;
}

static void *idle(void *arg)
{
    return arg;
}

int main(void)
{
    struct sigaction action = {0};
    sigset_t set, now, none;
    pthread_t a;
    action.sa_handler = first_handler;
#ifdef MASKED
    sigfillset(&action.sa_mask);
#endif
    sigaction(SIGUSR1, &action, NULL);
    signal(SIGUSR2, second_handler);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&a, NULL, idle, NULL);
    pthread_join(a, NULL);
    raise(SIGUSR1);
    raise(SIGUSR2);
    sigemptyset(&none);
    assert(sigsuspend(&none) == -1 && errno == EINTR);
#ifdef MASKED
    assert(first == 1 && second == 0);
    sigsuspend(&none);
#endif
    assert(first == 1 && second == 1);
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    assert(sigismember(&now, SIGUSR1) && sigismember(&now, SIGUSR2) && !sigismember(&now, SIGHUP));
    return 0;
}
