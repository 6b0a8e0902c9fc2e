// compilers: gcc clang
// check: --strategy optimal
// verdict: verified
// executions: 1
// check:
// flags: -O2
// verdict: verified

// Each mapping gets an address that is free: behind a mapping that has grown, for a thread that takes the place
// of one that has ended, and beside reservations of many gigabytes.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

static char *map(size_t bytes, int rights)
{
    char *start = mmap(NULL, bytes, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        abort();
    return start;
}

static void *work(void *unused)
{
    char *arena = map((size_t)100 << 30, PROT_NONE);
    char *page = map(PAGE, PROT_READ | PROT_WRITE);
    char *grown;
    page[0] = 4;
    grown = mremap(page, PAGE, 20 * PAGE, MREMAP_MAYMOVE);
    if (grown == MAP_FAILED || grown[0] != 4)
        abort();
    page = map(PAGE, PROT_READ | PROT_WRITE);
    page[0] = grown[19 * PAGE];
    munmap(arena, (size_t)100 << 30);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    for (int round = 0; round < 2; round++) {
        for (int number = 0; number < 2; number++)
            pthread_create(&threads[number], NULL, work, NULL);
        work(NULL);
        for (int number = 0; number < 2; number++)
            pthread_join(threads[number], NULL);
    }
    return 0;
}
