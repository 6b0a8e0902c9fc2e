// compilers: gcc clang
// check:
// flags: -DWAY=syscall(SYS_exit_group,3)
// verdict: bug
// finding: assertion detail=exit-status line=34
// check: --allow-exit 3
// flags: -DWAY=syscall(SYS_exit_group,3)
// verdict: verified
// check:
// flags: -DWAY=_exit(3)
// verdict: bug
// finding: assertion detail=exit-status line=34
// check:
// flags: -DWAY=errx(0,"bye")
// verdict: bug
// finding: assertion detail=assert line=29

// Other ways to end the process: two that call no handlers, and one that does.
#include <assert.h>
#include <err.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int is_set;

static void at_end(void) { assert(atomic_load(&is_set)); }

static void *end(void *arg)
{
    while (!arg) {
        WAY;
    }
    return arg;
}

int main(void)
{
    pthread_t thread;
    atexit(at_end);
    pthread_create(&thread, NULL, end, NULL);
    atomic_store(&is_set, 1);
    pthread_join(thread, NULL);
    return 0;
}
