// check:
// verdict: verified
// finding: misuse detail=signal-errno severity=warning
// check:
// flags: -DRESTORES
// verdict: verified

// A handler that changes errno may spoil what the thread that it interrupts is about to look at.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static void handle(int number)
{
    int before = errno;
    close(-1);
#ifdef RESTORES
    errno = before;
#else
    (void)before;
#endif
}

static void *worker(void *arg)
{
    return arg;
}

int main(void)
{
    pthread_t t;
    signal(SIGUSR1, handle);
    pthread_create(&t, NULL, worker, NULL);
    pthread_kill(t, SIGUSR1);
    pthread_join(t, NULL);
    return 0;
}
