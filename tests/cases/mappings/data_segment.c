// compilers: gcc clang
// check: --strategy optimal
// verdict: verified
// executions: 2
// check:
// flags: -DLESS
// verdict: bug
// findings: at-least
// finding: data-race detail=use-after-unmap line=26 line2=44

// Two threads take memory from the end of the data segment, in one order or the other. LESS: one gives back what
// the other uses.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { SIZE = 4 * 4096 };
#ifdef LESS
static char *start;
#endif

static void *work(void *unused)
{
#ifdef LESS
    start[2 * 4096] = 1;
#else
    char *mine = sbrk(SIZE);
    if (mine[0] != 0)
        abort();
    mine[0] = 1;
#endif
    return unused;
}

int main(void)
{
    pthread_t thread;
#ifdef LESS
    start = sbrk(SIZE);
#endif
    pthread_create(&thread, NULL, work, NULL);
#ifdef LESS
    sbrk(-SIZE);
#else
    work(NULL);
#endif
    pthread_join(thread, NULL);
    return 0;
}
