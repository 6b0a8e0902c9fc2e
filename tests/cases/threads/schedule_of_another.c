// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion detail=assert line=24
// check: --strategy optimal
// verdict: bug
// finding: assertion detail=assert line=24
// executions: 2
// check: --strategy optimal
// flags: -DPROCESSORS
// verdict: verified
// executions: 2

// Main changes how another thread is scheduled, or on which processors it runs, while that asks for it:
// both orders are tried.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>

#ifndef PROCESSORS
static void expect_old_policy(int policy)
{
    assert(policy == SCHED_OTHER);
}
#endif

static void *asks(void *arg)
{
#ifdef PROCESSORS
    cpu_set_t set;
    pthread_getaffinity_np(pthread_self(), sizeof set, &set);
#else
    expect_old_policy(sched_getscheduler(0));
#endif
    return arg;
}

int main(void)
{
    pthread_t thread;
#ifdef PROCESSORS
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
#else
    struct sched_param parameter = {0};
#endif
    pthread_create(&thread, NULL, asks, NULL);
#ifdef PROCESSORS
    pthread_setaffinity_np(thread, sizeof set, &set);
#else
    pthread_setschedparam(thread, SCHED_BATCH, &parameter);
#endif
    pthread_join(thread, NULL);
    return 0;
}
