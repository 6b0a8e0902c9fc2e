// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: data-race detail=use-after-unmap line=33 line2=46
// check: --strategy optimal
// flags: -DSHRINK
// verdict: bug
// findings: at-least
// finding: data-race detail=use-after-unmap line=33 line2=44
// check: --strategy optimal
// flags: -DORDERED
// verdict: verified
// executions: 1
// check: --strategy optimal
// flags: -DORDERED -DSHRINK
// verdict: verified
// executions: 1

// A mapping is moved, or loses pages, while another thread uses it.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { SIZE = 4096 };
static char *pages;

static void *work(void *unused)
{
    (void)unused;
    pages[SIZE + 100] = 1;
    return NULL;
}

static char *change(void)
{
    char *moved;
    if (pages[100] != 0)
        abort();
    pages[50] = 3;
#ifdef SHRINK
    moved = mremap(pages, 2 * SIZE, SIZE, 0);
#else
    moved = mremap(pages, 2 * SIZE, 8 * SIZE, MREMAP_MAYMOVE);
#endif
    if (moved == MAP_FAILED || moved[50] != 3)
        abort();
    return moved;
}

int main(void)
{
    pthread_t thread;
    pages = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_create(&thread, NULL, work, NULL);
#ifdef ORDERED
    pthread_join(thread, NULL);
    change();
#else
    char *moved = change();
    pthread_join(thread, NULL);
    moved[0] = 1;
#endif
    return 0;
}
