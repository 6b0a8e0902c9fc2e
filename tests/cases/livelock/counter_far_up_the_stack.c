// compilers: gcc clang
// check: --max-executions 20
// flags: -O0 -DBLOCK
// verdict: bug
// finding: assertion detail=assert
// check: --max-executions 20
// flags: -O2 -DBLOCK
// verdict: bug
// finding: assertion detail=assert
// check: --max-executions 20
// flags: -O0 -DTABLE
// verdict: bug
// finding: assertion detail=assert
// check: --max-executions 20
// flags: -O2 -DTABLE
// verdict: bug
// finding: assertion detail=assert
// check: --max-executions 20
// flags: -O0 -DTHIRD
// verdict: bug
// finding: data-race var=shared
// check: --max-executions 20
// flags: -O2 -DTHIRD
// verdict: bug
// finding: data-race var=shared

// A waiting loop that counts its rounds in the middle of a large frame. A round that changes any
// byte of the live stack is no round of mere waiting, however far up the byte is.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int flag;
int shared;

static void *wait_for_flag(void *arg)
{
#ifdef TABLE
    int rounds[8192] = { 0 };
    int slot = 4000;
    while (!atomic_load(&flag))
        rounds[slot & 8191]++;
    assert(rounds[4000] < 2);
#else
    volatile struct {
        char below[20000];
        int rounds;
        char above[20000];
    } frame;
    frame.rounds = 0;
    while (!atomic_load(&flag)) {
        frame.rounds++;
#ifdef THIRD
        if (frame.rounds == 3)
            shared = 1;
#endif
    }
#ifdef BLOCK
    assert(frame.rounds < 2);
#endif
#endif
    return arg;
}

int main(void)
{
    pthread_t waiter;
    pthread_create(&waiter, NULL, wait_for_flag, NULL);
#ifdef THIRD
    shared = 2;
#endif
    atomic_store(&flag, 1);
    pthread_join(waiter, NULL);
    return 0;
}
