// compilers: gcc clang
// check:
// verdict: verified
// executions: 6
// check: --strategy optimal
// verdict: verified
// executions: 6
// check:
// flags: -DASKS
// verdict: bug
// finding: assertion detail=assert line=56

// What prctl sets is undone behind each run: a program that checks at its start what it sets later does
// not fail. The atomic operations of two threads (one store, two loads and stores) make several runs.
// Settings of a thread are those of no other, but new threads inherit some.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>

static atomic_int x;
static unsigned long slack;

static void *work(void *arg)
{
    int signal = -1;
    prctl(PR_GET_PDEATHSIG, &signal);
    assert(signal == 0);
    assert(prctl(PR_GET_TIMERSLACK) == 77000);
    assert(prctl(PR_SET_TIMERSLACK, 88000UL) == 0);
    assert(prctl(PR_GET_TIMERSLACK) == 88000);
    assert(prctl(PR_SET_TIMERSLACK, 0UL) == 0);
    assert(prctl(PR_GET_TIMERSLACK) == 77000);
    atomic_store(&x, 1);
    atomic_store(&x, 2);
#ifdef ASKS
    prctl(PR_SET_DUMPABLE, 0);
#endif
    return arg;
}

int main(void)
{
    int signal = -1;
    pthread_t thread;
    assert(prctl(PR_GET_PDEATHSIG, &signal) == 0 && signal == 0);
    slack = (unsigned long)prctl(PR_GET_TIMERSLACK);
    assert(slack == 50000);
    assert(prctl(PR_GET_DUMPABLE) == 1);
    assert(prctl(PR_SET_TIMERSLACK, 77000UL) == 0);
    assert(prctl(PR_SET_PDEATHSIG, 10) == 0);
    pthread_create(&thread, NULL, work, NULL);
    atomic_load(&x);
    atomic_load(&x);
    assert(prctl(PR_GET_DUMPABLE) == 1);
    assert(prctl(PR_GET_PDEATHSIG, &signal) == 0 && signal == 10);
    assert(prctl(PR_SET_DUMPABLE, 1) == 0);
    assert(prctl(PR_SET_DUMPABLE, 2) == -1);
    pthread_join(thread, NULL);
    prctl(PR_SET_TIMERSLACK, 1UL);
    return 0;
}
