// check:
// verdict: bug
// finding: deadlock detail=relock
// finding: misuse detail=async-signal-unsafe severity=warning
// check: --strategy dfs
// verdict: bug
// finding: deadlock detail=relock
// finding: misuse detail=async-signal-unsafe severity=warning
// check:
// flags: -DRECURSIVE
// verdict: verified
// finding: misuse detail=async-signal-unsafe severity=warning

// A handler locks the mutex that the thread which it interrupts may hold: to the mutex they are one
// thread. A recursive mutex lets it through. No lock is async-signal-safe.
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

static pthread_mutex_t mutex;
static int total;

static void handle(int number)
{
    pthread_mutex_lock(&mutex);
    total++;
    pthread_mutex_unlock(&mutex);
}

static void *worker(void *arg)
{
    pthread_mutex_lock(&mutex);
    total++;
    pthread_mutex_unlock(&mutex);
    return arg;
}

int main(void)
{
    pthread_t t;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
#ifdef RECURSIVE
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
#endif
    pthread_mutex_init(&mutex, &attributes);
    signal(SIGUSR1, handle);
    pthread_create(&t, NULL, worker, NULL);
    pthread_kill(t, SIGUSR1);
    pthread_join(t, NULL);
    pthread_mutex_destroy(&mutex);
    return 0;
}
