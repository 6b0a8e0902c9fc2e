// check: --memory rc11
// verdict: verified
// executions: 1
// check: --memory tso
// verdict: verified
// executions: 1
// check: --memory rc11
// flags: -DNONE
// verdict: bug
// finding: data-race detail=read-write
// finding: assertion detail=assert
// findings: at-least
// check: --memory rc11
// flags: -DMORE
// verdict: incomplete
// check: --memory rc11
// flags: -DLESS
// verdict: bug
// finding: deadlock detail=all-blocked

// Each of two threads stores before a barrier what the other one loads behind it: relaxed operations suffice.
// NONE: there is no barrier. MORE: four threads at a barrier for two: who meets whom is not explored. LESS: two
// threads at a barrier for three.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#if defined MORE
#define THREADS 4
#else
#define THREADS 2
#endif
#if defined LESS
#define SIZE 3
#else
#define SIZE 2
#endif

static pthread_barrier_t barrier;
static atomic_int stored[4];
static int plain[4];

static void *meet(void *arg) {
    int self = (int)(long)arg;
    plain[self] = 1;
    atomic_store_explicit(&stored[self], 1, memory_order_relaxed);
#ifndef NONE
    pthread_barrier_wait(&barrier);
#endif
#ifndef MORE
    assert(atomic_load_explicit(&stored[1 - self], memory_order_relaxed) == 1);
    assert(plain[1 - self] == 1);
#endif
    return NULL;
}

int main(void) {
    pthread_t thread[THREADS];
    pthread_barrier_init(&barrier, NULL, SIZE);
    for (long at = 1; at < THREADS; at++)
        pthread_create(&thread[at], NULL, meet, (void *)at);
    meet((void *)0);
    for (int at = 1; at < THREADS; at++)
        pthread_join(thread[at], NULL);
    pthread_barrier_destroy(&barrier);
    return 0;
}
