// compilers: gcc clang
// check:
// verdict: bug
// finding: memory detail=use-after-free line=20
// findings: at-least
// check:
// flags: -O2
// verdict: bug
// finding: memory detail=use-after-free line=20
// findings: at-least

// The C library would give the address of the freed block to the one behind it, and the stale pointer would
// lead to that one. Here freed blocks are not used again so soon.
#include <stdlib.h>

static int *volatile stale;

static int through_the_stale_pointer(void)
{
    return *stale;
}

int main(void)
{
    int *block = malloc(sizeof *block);
    *block = 1;
    stale = block;
    free(block);
    int *volatile later = malloc(sizeof *later);
    *later = 2;
    int found = through_the_stale_pointer();
    free(later);
    return found > 2;
}
