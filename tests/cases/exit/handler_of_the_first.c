// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion detail=assert line=26
// check: --strategy optimal
// verdict: bug
// finding: assertion detail=assert line=26
// check: --strategy dfs
// verdict: bug
// finding: assertion detail=assert line=26
// check:
// flags: -DJOINED
// verdict: verified

// The first thread that ends the process runs the handler. If that is not main, what main sets may be
// missing.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int is_set;

static void at_end(void)
{
    assert(atomic_load(&is_set));
}

static void *end(void *arg)
{
#ifndef JOINED
    exit(0);
#endif
    return arg;
}

int main(void)
{
    pthread_t thread;
    atexit(at_end);
    pthread_create(&thread, NULL, end, NULL);
#ifdef JOINED
    pthread_join(thread, NULL);
#endif
    atomic_store(&is_set, 1);
    return 0;
}
