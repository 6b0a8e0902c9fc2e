// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion detail=assert line=21
// check: --strategy optimal
// verdict: bug
// finding: assertion detail=assert line=21
// check: --allow-exit 0
// flags: -DONE
// verdict: verified

// Two threads that end the process at the same time share its handlers: one may be called while the other
// thread is still in the one that was called before.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int is_saved;
static void check(void) { assert(atomic_load(&is_saved)); }
static void save(void) { atomic_store(&is_saved, 1); }

static void *end(void *arg)
{
#ifdef ONE
    _exit(0);
#endif
    exit(0);
    return arg;
}

int main(void)
{
    pthread_t thread;
    atexit(check);
    atexit(save);
    pthread_create(&thread, NULL, end, NULL);
    exit(0);
}
