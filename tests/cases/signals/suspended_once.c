// compilers: gcc clang
// check:
// verdict: verified
// check: --strategy dpor
// verdict: verified

// Behind the handler that ends sigsuspend the mask from before is in force at once: the signal that
// came again while the handler ran stays pending.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static volatile sig_atomic_t calls;
static sem_t inside;
static atomic_int sent;

static void handler(int number)
{
    calls++;
    sem_post(&inside);
    while (atomic_load(&sent) < 2)
        ;
}

static void *sleeper(void *arg)
{
    sigset_t set, pending;
    sigfillset(&set);
    sigdelset(&set, SIGUSR1);
    sigsuspend(&set);
    assert(calls == 1);
    sigpending(&pending);
    assert(sigismember(&pending, SIGUSR1));
    return arg;
}

int main(void)
{
    sigset_t set;
    pthread_t a;
    sem_init(&inside, 0, 0);
    signal(SIGUSR1, handler);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&a, NULL, sleeper, NULL);
    pthread_kill(a, SIGUSR1);
    atomic_store(&sent, 1);
    sem_wait(&inside);
    pthread_kill(a, SIGUSR1);
    atomic_store(&sent, 2);
    pthread_join(a, NULL);
    sem_destroy(&inside);
    return 0;
}
