// check:
// verdict: verified

// A signal to the process whose handler was replaced by SIG_IGN goes nowhere: no thread could run it.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t calls;

static void handler(int number)
{
    calls++;
}

static void *idle(void *arg)
{
    return arg;
}

int main(void)
{
    pthread_t a;
    signal(SIGUSR1, handler);
    raise(SIGUSR1);
    signal(SIGUSR1, SIG_IGN);
    pthread_create(&a, NULL, idle, NULL);
    kill(getpid(), SIGUSR1);
    raise(SIGUSR1);
    pthread_join(a, NULL);
    assert(calls == 1);
    return 0;
}
