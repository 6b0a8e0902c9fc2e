// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion detail=exit-status line=24
// check: --strategy optimal
// verdict: bug
// finding: assertion detail=exit-status line=24
// check: --allow-exit 1-3
// verdict: verified
// executions: 1
// check: --allow-exit 1-2,4
// verdict: bug
// finding: assertion detail=exit-status line=24

// Two threads end the process, with different statuses: each end could be the first one. One execution
// shows both, because neither depends on the other.
#include <pthread.h>
#include <stdlib.h>

#define STATUS 3

static void *end(void *arg)
{
    exit(STATUS);
    return arg;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, end, NULL);
    return 0;
}
