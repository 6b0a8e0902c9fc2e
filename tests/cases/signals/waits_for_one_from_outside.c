// check:
// verdict: incomplete
// check:
// flags: -DCYCLE
// verdict: bug
// finding: deadlock detail=cycle
// findings: at-least
// check:
// flags: -DENDS
// verdict: verified

// A thread that waits for a signal which no thread sends is in no deadlock: the signal may come from
// outside, which is named. That hides no cycle of other threads. It does no harm if the program ends
// without it.
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>

static sigset_t set;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

static void *taker(void *arg)
{
    int got;
    sigwait(&set, &got);
    return arg;
}

static void *other(void *arg)
{
    pthread_mutex_lock(&second);
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
    return arg;
}

int main(void)
{
    pthread_t a, b;
    sigfillset(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&a, NULL, taker, NULL);
#ifdef CYCLE
    pthread_create(&b, NULL, other, NULL);
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
    pthread_join(b, NULL);
#else
    (void)b;
    (void)other;
#endif
#ifdef ENDS
    pthread_detach(a);
    exit(0);
#endif
    pthread_join(a, NULL);
    return 0;
}
