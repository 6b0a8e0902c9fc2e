// compilers: gcc clang
// check:
// verdict: verified
// check: --strategy optimal
// verdict: verified
// executions: 1
// check:
// flags: -DNO_DESTROY
// verdict: bug
// finding: data-race detail=use-after-free line=29 line2=34
// check: --strategy optimal
// flags: -DNO_DESTROY
// verdict: bug
// executions: 1
// finding: data-race detail=use-after-free line=29 line2=34

// The serial thread gives the barrier up as soon as it has left. POSIX allows it to destroy the barrier:
// no thread is blocked there, and destroying waits for the other one to leave. To free it without
// that is a race with the other one, which may not have left yet.
// Arrivals commute, and so do departures; destroying comes behind both of them.
#include <pthread.h>
#include <stdlib.h>

static pthread_barrier_t *barrier;

static void *meet(void *arg)
{
    pthread_barrier_t *mine = barrier;
    if (pthread_barrier_wait(mine) != PTHREAD_BARRIER_SERIAL_THREAD)
        return arg;
#ifndef NO_DESTROY
    pthread_barrier_destroy(mine);
#endif
    free(mine);
    return arg;
}

int main(void)
{
    pthread_t threads[2];
    barrier = malloc(sizeof *barrier);
    pthread_barrier_init(barrier, NULL, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, meet, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
