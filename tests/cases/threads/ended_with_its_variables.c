// compilers: gcc clang
// check:
// verdict: bug
// finding: memory detail=use-after-return line=67
// check:
// flags: -DEARLY
// verdict: bug
// findings: at-least
// finding: data-race detail=use-after-return line=60
// check: --strategy optimal
// flags: -DORDERED
// verdict: verified
// check:
// flags: -DON_STACK
// verdict: bug
// finding: memory detail=use-after-return line=67
// check:
// flags: -DON_STACK -DEARLY
// verdict: bug
// findings: at-least
// finding: data-race detail=use-after-return line=60
// check: --strategy optimal
// flags: -DON_STACK -DORDERED
// verdict: verified

// A thread lends a thread-local variable, or one on its stack (ON_STACK), and ends. The one that it was lent to
// uses it when the thread was joined, or, with EARLY, without an order with the end. ORDERED: the thread waits
// for the last use.
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static sem_t lent, done;
static int *variable;
static _Thread_local int of_thread = 1;

static void *work(void *unused)
{
#ifdef ON_STACK
    int own = 1;
    variable = &own;
#else
    variable = &of_thread;
#endif
    sem_post(&lent);
#ifdef ORDERED
    sem_wait(&done);
#endif
    return unused;
}

int main(void)
{
    pthread_t thread;
    sem_init(&lent, 0, 0);
    sem_init(&done, 0, 0);
    pthread_create(&thread, NULL, work, NULL);
    sem_wait(&lent);
#ifdef EARLY
    *variable = 2;
#elif defined(ORDERED)
    *variable = 2;
    sem_post(&done);
#endif
    pthread_join(thread, NULL);
#if !defined(EARLY) && !defined(ORDERED)
    *variable = 2;
#endif
    sem_destroy(&lent);
    sem_destroy(&done);
    return 0;
}
