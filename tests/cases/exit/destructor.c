// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion detail=assert line=22
// check: --strategy optimal
// verdict: bug
// finding: assertion detail=assert line=22
// check:
// flags: -DJOINED
// verdict: verified

// Destructors of the program run behind all handlers, by the thread that ends the process.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int is_set, is_called;

__attribute__((destructor)) static void at_end(void)
{
    assert(atomic_load(&is_set) && atomic_load(&is_called));
}

static void handler(void)
{
    atomic_store(&is_called, 1);
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
    atexit(handler);
    pthread_create(&thread, NULL, end, NULL);
#ifdef JOINED
    pthread_join(thread, NULL);
#endif
    atomic_store(&is_set, 1);
    return 0;
}
