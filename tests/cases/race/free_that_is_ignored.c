// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -DSEEN
// verdict: bug
// finding: data-race detail=use-after-free line=20 line2=37

// The program wants its accesses to be ignored, so the end of a block does not race either.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
static atomic_int done;

static void *writer(void *arg)
{
    *(int *)arg = 1;
    atomic_store_explicit(&done, 1, memory_order_relaxed);
    return NULL;
}

int main(void)
{
    int *block = malloc(sizeof *block);
    pthread_t t;
    pthread_create(&t, NULL, writer, block);
    while (!atomic_load_explicit(&done, memory_order_relaxed))
        ;
#ifdef SEEN
    /* Nothing is ignored. */
#else
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
    free(block);
#ifndef SEEN
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
#endif
    pthread_join(t, NULL);
    return 0;
}
