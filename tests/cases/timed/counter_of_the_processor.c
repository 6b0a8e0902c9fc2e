// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion detail=assert line=42
// check: --strategy optimal
// verdict: bug
// finding: assertion detail=assert line=42
// check:
// flags: -DLONGER
// verdict: bug
// finding: assertion detail=assert line=42
// check:
// flags: -DGIVES_UP
// verdict: verified
// check:
// flags: -DALONE
// verdict: verified
// executions: 1

// The counter of the processor is a clock: a loop that waits until it shows a certain value may end by that.
// It never runs backwards, and goes on while a thread sleeps.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include <x86intrin.h>

static atomic_int is_ready;

static void *work(void *arg)
{
    atomic_store(&is_ready, 1);
    return arg;
}

#ifdef LONGER
#define NOW() ({ unsigned processor; __rdtscp(&processor); })
#else
#define NOW() __rdtsc()
#endif

static void expect(int is_seen) { assert(is_seen); }

int main(void)
{
    pthread_t thread;
    unsigned long long start = NOW(), end = start + 1000000;
    assert(NOW() > start);
#ifdef ALONE
    usleep(2000);
    assert(NOW() > end);
    while (NOW() < end + 1000000) {
    }
    return 0;
#endif
    pthread_create(&thread, NULL, work, NULL);
    int is_seen = 0;
    while (!is_seen && NOW() < end)
        is_seen = atomic_load(&is_ready);
#ifndef GIVES_UP
    expect(is_seen);
#else
    expect(1);
#endif
    pthread_join(thread, NULL);
    return 0;
}
