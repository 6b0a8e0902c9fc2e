// check:
// args: one two
// verdict: verified
// executions: 1

// Arguments arrive; standard input is empty unless a file is given.
#include <assert.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc == 1)
        return 0;
    assert(argc == 3 && strcmp(argv[1], "one") == 0 && strcmp(argv[2], "two") == 0);
    assert(getchar() == EOF);
    return 0;
}
