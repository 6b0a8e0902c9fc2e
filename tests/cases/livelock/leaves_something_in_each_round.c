// compilers: gcc clang
// check:
// flags: -DGLOBAL
// verdict: incomplete
// most-runs: 100
// check:
// flags: -DHEAP
// verdict: incomplete
// most-runs: 100
// check:
// flags: -DATOMIC
// verdict: incomplete
// most-runs: 100
// check:
// flags: -DLOG
// verdict: incomplete
// most-runs: 100
// check:
// flags: -DUNDER_LOCK
// verdict: incomplete
// most-runs: 200
// check:
// flags: -DATOMIC -DTHREADS=2
// verdict: incomplete
// most-runs: 2000
// check:
// flags: -DGLOBAL -DFAILS
// verdict: bug
// finding: assertion detail=assert
// findings: at-least
// check: --strategy stateful
// flags: -DHEAP
// verdict: incomplete
// most-runs: 1200

// A thread that waits and leaves something behind in each round: each number of rounds is a state of its own,
// and the number may be read later. There is no greatest one, so the search is not complete, and says so after
// a few rounds. FAILS: what the count leads to after one round is found all the same.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef THREADS
#define THREADS 1
#endif

static atomic_int ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_ready;
static atomic_long counted;
static long *rounds;
static long all;

static int round_is_last(void)
{
#ifdef UNDER_LOCK
    pthread_mutex_lock(&lock);
    int last = is_ready;
    all++;
    pthread_mutex_unlock(&lock);
    return last;
#else
    if (atomic_load(&ready))
        return 1;
#if defined GLOBAL
    all++;
#elif defined HEAP
    ++*rounds;
#elif defined ATOMIC
    atomic_fetch_add(&counted, 1);
#elif defined LOG
    printf("not yet\n");
#endif
    return 0;
#endif
}

static void *wait_until_ready(void *unused)
{
    while (!round_is_last())
        ;
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    rounds = calloc(1, sizeof *rounds);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], 0, wait_until_ready, 0);
    pthread_mutex_lock(&lock);
    is_ready = 1;
    pthread_mutex_unlock(&lock);
    atomic_store(&ready, 1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], 0);
#ifdef FAILS
    assert(all != 2);
#endif
    printf("%ld rounds\n", all + *rounds + atomic_load(&counted));
    free(rounds);
    return 0;
}
