// compilers: gcc clang
// check: --strategy optimal
// verdict: verified
// executions: 1
// check: --strategy optimal
// flags: -DSAME
// verdict: bug
// finding: data-race

// Two threads commit parts of an arena of a gigabyte and give them back, each with a guard page. SAME: they use
// one part.
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define ARENA ((size_t)1 << 30)
enum { PART = 1 << 20, PAGE = 4096 };

static char *arena;

static void *work(void *number)
{
#ifdef SAME
    char *part = arena + PART;
    (void)number;
#else
    char *part = arena + (intptr_t)number * (ptrdiff_t)(ARENA / 4);
#endif
    mprotect(part, PART, PROT_READ | PROT_WRITE);
    mprotect(part + PART - PAGE, PAGE, PROT_NONE);
    for (int at = 0; at < PART - PAGE; at += 16 * PAGE)
        part[at] = 1;
    madvise(part, PART, MADV_DONTNEED);
    return NULL;
}

int main(void)
{
    pthread_t one, two;
    arena = mmap(NULL, ARENA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    pthread_create(&one, NULL, work, (void *)1);
    pthread_create(&two, NULL, work, (void *)2);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    munmap(arena, ARENA);
    return 0;
}
