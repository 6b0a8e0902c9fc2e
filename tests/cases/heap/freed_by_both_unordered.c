// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race detail=use-after-free line=30 line2=39
// findings: 1
// check: --strategy optimal
// verdict: bug
// finding: data-race detail=use-after-free line=30 line2=39
// findings: 1
// check: --strategy dfs
// verdict: bug
// finding: data-race detail=use-after-free line=30 line2=39
// findings: 1
// check: --strategy random --max-executions 20
// verdict: bug
// finding: data-race detail=use-after-free line=30 line2=39
// findings: 1
// check: --granularity access --strategy optimal
// verdict: bug
// findings: at-least

// Two threads free one block, and nothing orders the two: a race, whichever comes first. That the second frees
// what is freed already follows from it, and is not reported as well. Where accesses are transitions the second free
// is none, and is reported by itself.
#include <pthread.h>
#include <stdlib.h>

static void *work(void *block)
{
    free(block);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    void *block = malloc(24);
    pthread_create(&thread, NULL, work, block);
    free(block);
    pthread_join(thread, NULL);
    return 0;
}
