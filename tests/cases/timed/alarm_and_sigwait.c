// check:
// verdict: verified
// check: --strategy dfs
// verdict: verified
// check:
// flags: -DLATE
// verdict: bug
// finding: assertion detail=assert
// check:
// flags: -DDISARMED
// verdict: incomplete

// A timer whose signal all threads have blocked can go off at any moment, and waiting for the signal
// tells when: before or after the step of the other thread. Whether it has gone off before it is
// disarmed is not explored.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static sigset_t set;
static atomic_int done;

static void *worker(void *arg)
{
    done = 1;
    return arg;
}

int main(void)
{
    pthread_t a;
    int got;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&a, NULL, worker, NULL);
    alarm(1);
#ifdef DISARMED
    alarm(0);
#else
    sigwait(&set, &got);
    assert(got == SIGALRM);
#endif
#ifdef LATE
    assert(done);
#endif
    (void)got;
    pthread_join(a, NULL);
    return 0;
}
