// compilers: gcc clang
// flags: -O2
// check: --strategy optimal
// verdict: verified
// check:
// flags: -DEARLY
// verdict: bug
// findings: at-least
// finding: data-race line=56
// check:
// flags: -DTWO
// verdict: bug
// findings: at-least
// finding: crash detail=SIGSEGV
// check: --strategy optimal
// flags: -DMAPPED
// verdict: verified
// check:
// flags: -DMAPPED -DEARLY
// verdict: bug
// findings: at-least
// finding: crash detail=SIGSEGV

// A thread runs on memory that the program gives it, from the heap or a mapping. EARLY: it is given back before
// the thread is joined, where memory that is not mapped any more is a crash. TWO: two threads get the same memory,
// so that one begins with the frame of the other. What a thread does on its own stack need not have hooks, but its
// end is an access to all of it.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { SIZE = 1 << 17 };

static void *work(void *unused)
{
    return unused;
}

static void *get(void)
{
#ifdef MAPPED
    return mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
#else
    return aligned_alloc(4096, SIZE);
#endif
}

static pthread_t create(void *stack);

static void give_back(void *stack)
{
#ifdef MAPPED
    munmap(stack, SIZE);
#else
    free(stack);
#endif
}

int main(void)
{
    void *stack = get();
    pthread_t thread = create(stack);
#ifdef TWO
    pthread_t other = create(stack);
    pthread_join(other, NULL);
#endif
#ifdef EARLY
    give_back(stack);
    pthread_join(thread, NULL);
#else
    pthread_join(thread, NULL);
    thread = create(stack);
    pthread_join(thread, NULL);
    give_back(stack);
#endif
    return 0;
}

static pthread_t create(void *stack)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, SIZE);
    pthread_create(&thread, &attributes, work, NULL);
    pthread_attr_destroy(&attributes);
    return thread;
}
