// compilers: gcc clang
// check:
// verdict: verified
// check: --strategy optimal
// verdict: verified
// check:
// flags: -DORDER
// verdict: bug
// finding: assertion detail=assert line=81

// Policies and priorities of threads: what was set is what is told, by any of the functions; wrong ones are
// refused; new threads are scheduled as their creators, or as their attributes say.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

static int nicer;

static int policy_of(pthread_t thread)
{
    int policy = -1;
    struct sched_param parameter = {-1};
    assert(pthread_getschedparam(thread, &policy, &parameter) == 0);
    assert(parameter.sched_priority == 0);
    return policy;
}

static void *inherits(void *arg)
{
    assert(policy_of(pthread_self()) == SCHED_BATCH);
    assert(sched_getscheduler(0) == SCHED_BATCH);
    assert(getpriority(PRIO_PROCESS, 0) == nicer);
    return arg;
}

static void *is_ordinary(void *arg)
{
    assert(policy_of(pthread_self()) == SCHED_OTHER);
    return arg;
}

static void *is_changed(void *arg)
{
    policy_of(pthread_self());
    return arg;
}

int main(void)
{
    struct sched_param parameter = {0}, wrong = {1};
    pthread_t thread;
    pthread_attr_t attr;
    int policy;

    assert(policy_of(pthread_self()) == SCHED_OTHER);
    nicer = getpriority(PRIO_PROCESS, 0) + 5;
    if (nicer > 19)
        nicer = 19;
    assert(pthread_setschedparam(pthread_self(), SCHED_OTHER, &wrong) == EINVAL);
    assert(pthread_setschedparam(pthread_self(), 17, &parameter) == EINVAL);
    assert(pthread_setschedprio(pthread_self(), 1) == EINVAL);
    assert(pthread_setschedparam(pthread_self(), SCHED_BATCH, &parameter) == 0);
    assert(nice(5) == nicer && setpriority(PRIO_PROCESS, 0, nicer) == 0);
    pthread_create(&thread, NULL, inherits, NULL);
    pthread_join(thread, NULL);

    pthread_attr_init(&attr);
    pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attr, SCHED_OTHER);
    pthread_create(&thread, &attr, is_ordinary, NULL);
    pthread_join(thread, NULL);

    pthread_create(&thread, NULL, is_changed, NULL);
    assert(pthread_setschedparam(thread, SCHED_OTHER, &parameter) == 0);
    policy = policy_of(thread);
#ifdef ORDER
    assert(policy == SCHED_BATCH);
#else
    assert(policy == SCHED_OTHER);
#endif
    pthread_join(thread, NULL);
    assert(sched_setscheduler(0, SCHED_OTHER, &parameter) == 0 && sched_getscheduler(0) == SCHED_OTHER);
    return 0;
}
