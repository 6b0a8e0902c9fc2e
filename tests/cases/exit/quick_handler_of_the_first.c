// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion detail=assert line=22
// check: --strategy optimal
// verdict: bug
// finding: assertion detail=assert line=22
// check:
// flags: -DSET_BEFORE
// verdict: verified

// As handler_of_the_first.c, for quick_exit, whose handlers are others.
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
    quick_exit(0);
    return arg;
}

int main(void)
{
    pthread_t thread;
    at_quick_exit(at_end);
#ifdef SET_BEFORE
    atomic_store(&is_set, 1);
#endif
    pthread_create(&thread, NULL, end, NULL);
    atomic_store(&is_set, 1);
    quick_exit(0);
}
