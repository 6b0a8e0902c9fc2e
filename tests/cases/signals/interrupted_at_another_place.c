// check:
// verdict: bug
// finding: deadlock detail=relock
// finding: misuse detail=async-signal-unsafe severity=warning
// findings: 2
// check: --strategy stateful
// verdict: bug
// finding: deadlock detail=relock
// finding: misuse detail=async-signal-unsafe severity=warning
// findings: 2
// check: --strategy optimal
// verdict: bug
// finding: deadlock detail=relock
// finding: misuse detail=async-signal-unsafe severity=warning
// findings: 2
// check: --strategy dfs
// verdict: bug
// finding: deadlock detail=relock
// finding: misuse detail=async-signal-unsafe severity=warning
// findings: 2

// The handler waits for a mutex of the thread that it interrupts, by one of two instructions on one
// line. Which one it is depends on where it interrupts its thread. That is one deadlock, whichever
// place a search meets first.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#define SECTION() do { pthread_mutex_lock(&mutex); pthread_mutex_unlock(&mutex); } while (0)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int is_further;
static pthread_t interrupted;

static void handle(int number)
{
    (void)number;
    if (atomic_load(&is_further)) SECTION(); else SECTION();
}

static void *sender(void *arg)
{
    pthread_kill(interrupted, SIGUSR1);
    return arg;
}

int main(void)
{
    pthread_t t;
    interrupted = pthread_self();
    signal(SIGUSR1, handle);
    pthread_create(&t, NULL, sender, NULL);
    pthread_mutex_lock(&mutex);
    atomic_store(&is_further, 1);
    pthread_mutex_unlock(&mutex);
    pthread_join(t, NULL);
    return 0;
}
