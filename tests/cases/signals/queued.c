// check:
// verdict: verified
// check:
// flags: -DSTANDARD
// verdict: bug
// finding: assertion detail=assert

// Real-time signals arrive as often as they were sent, in the order in which they were sent, with their
// values. Of standard ones the second is lost while the first is pending.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#ifdef STANDARD
#define SIGNAL SIGUSR1
#else
#define SIGNAL SIGRTMIN
#endif

static volatile sig_atomic_t calls, last;
static sigset_t set;
static sem_t sent;

static void handle(int number, siginfo_t *info, void *context)
{
    assert(info->si_signo == SIGNAL && info->si_code == SI_QUEUE && info->si_pid == getpid());
    assert(info->si_value.sival_int > last);
    last = info->si_value.sival_int;
    calls++;
}

static void *worker(void *arg)
{
    sem_wait(&sent);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    assert(calls == 2);
    return arg;
}

int main(void)
{
    pthread_t t;
    struct sigaction action = { .sa_sigaction = handle, .sa_flags = SA_SIGINFO };
    sem_init(&sent, 0, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGNAL);
    sigaction(SIGNAL, &action, NULL);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&t, NULL, worker, NULL);
    pthread_sigqueue(t, SIGNAL, (union sigval){ .sival_int = 1 });
    pthread_sigqueue(t, SIGNAL, (union sigval){ .sival_int = 2 });
    sem_post(&sent);
    pthread_join(t, NULL);
    sem_destroy(&sent);
    return 0;
}
