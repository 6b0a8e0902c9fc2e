// compilers: gcc clang
// check:
// flags: -O0
// verdict: verified
// executions: 1
// check:
// flags: -O2
// verdict: verified
// executions: 1
// check: --strategy dpor
// verdict: verified
// executions: 1
// check: --strategy dfs
// verdict: verified
// check:
// flags: -DTIME_OUT=10
// verdict: verified
// executions: 1
// check: --strategy random --max-executions 5
// flags: -O2
// verdict: incomplete
// check:
// flags: -DSILENT
// verdict: bug
// finding: livelock detail=spin
// check:
// flags: -O2 -DSILENT
// verdict: bug
// finding: livelock detail=spin

// A thread that polls a pipe without waiting. A failed poll only reads, so it is left out: the poll
// that finds the byte comes behind the write.
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#ifndef TIME_OUT
#define TIME_OUT 0
#endif

static int ends[2];

static void *send(void *arg)
{
#ifndef SILENT
    assert(write(ends[1], "x", 1) == 1);
#endif
    return arg;
}

int main(void)
{
    assert(pipe(ends) == 0);
    pthread_t sender;
    pthread_create(&sender, NULL, send, NULL);
    struct pollfd entry = { ends[0], POLLIN, 0 };
    while (poll(&entry, 1, TIME_OUT) == 0)
        ;
    char byte;
    assert(read(ends[0], &byte, 1) == 1);
    pthread_join(sender, NULL);
    return 0;
}
