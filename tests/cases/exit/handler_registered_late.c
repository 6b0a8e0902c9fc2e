// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion detail=assert line=19
// check: --strategy optimal
// verdict: bug
// finding: assertion detail=assert line=19
// executions: 2
// check:
// flags: -DHARMLESS
// verdict: verified

// A thread registers a handler while main ends the process: it may be in time, or not.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#ifndef HARMLESS
static void late(void) { assert(0); }
#else
static int written;
static void late(void) { written++; }
#endif

static void *work(void *arg)
{
#ifdef HARMLESS
    // What was done before the registration happens before the handler.
    written = 1;
#endif
    atexit(late);
    return arg;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    exit(0);
}
