// compilers: gcc clang
// check:
// verdict: verified
// executions: 1

// A block holds the same in every run before the program writes to it: never all zeros here. So what a
// program does that finds zeros is missed.
#include <assert.h>
#include <stdlib.h>

static __attribute__((noinline)) long first(long *block)
{
    return *block;
}

int main(void)
{
    long *block = malloc(sizeof *block);
    assert(block);
    assert(first(block) != 0);
    free(block);
    return 0;
}
