// check:
// verdict: incomplete

// A handler that may run at any moment jumps to where its thread was, which is not modelled.
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

static sigjmp_buf back;

static void handle(int number)
{
    siglongjmp(back, 1);
}

static void *worker(void *arg)
{
    static sigset_t set;
    sigaddset(&set, SIGUSR1);
    if (sigsetjmp(back, 1) == 0)
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return arg;
}

int main(void)
{
    pthread_t t;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    signal(SIGUSR1, handle);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&t, NULL, worker, NULL);
    pthread_kill(t, SIGUSR1);
    pthread_join(t, NULL);
    return 0;
}
