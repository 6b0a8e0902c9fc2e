// check:
// verdict: verified
// check:
// flags: -DMASKED
// verdict: verified
// check:
// flags: -DEXPECTS_NO_NESTING
// verdict: bug
// finding: assertion detail=assert

// A handler is interrupted by that of another signal, unless its action blocks it. It is never
// interrupted by its own signal.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static volatile sig_atomic_t depth;
static atomic_int word;

static void handle(int number)
{
#ifdef EXPECTS_NO_NESTING
    assert(depth == 0);
#else
    assert(depth <= 1);
#endif
#ifdef MASKED
    assert(depth == 0);
#endif
    depth++;
    atomic_store(&word, number);
    depth--;
}

static void *worker(void *arg)
{
    return arg;
}

int main(void)
{
    pthread_t t;
    struct sigaction action = { .sa_handler = handle };
#ifdef MASKED
    sigaddset(&action.sa_mask, SIGUSR1);
    sigaddset(&action.sa_mask, SIGUSR2);
#endif
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    pthread_create(&t, NULL, worker, NULL);
    pthread_kill(t, SIGUSR1);
    pthread_kill(t, SIGUSR2);
    pthread_join(t, NULL);
    return 0;
}
