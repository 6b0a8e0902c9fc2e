// compilers: gcc clang
// check:
// verdict: bug
// executions: 1
// finding: crash detail=SIGSEGV line=32
// check:
// flags: -DLOCK
// verdict: bug
// executions: 1
// finding: crash detail=SIGSEGV line=30
// check:
// flags: -DATOMIC
// verdict: bug
// executions: 1
// finding: crash detail=SIGSEGV line=28

// An address that cannot be used, passed to a function that the runtime replaces: the program crashes
// there, as it does without raddle, and no thread was made.
#include <pthread.h>
#include <stdatomic.h>

static void *never(void *arg) { return arg; }

int main(void)
{
    void *volatile nothing = NULL;
#if defined ATOMIC
    return atomic_load((atomic_int *)nothing);
#elif defined LOCK
    pthread_mutex_lock(nothing);
#else
    pthread_create(nothing, NULL, never, NULL);
#endif
    (void)never;
    return 0;
}
