// check:
// verdict: verified

// quick_exit runs its own handlers and no others.
#include <stdlib.h>
#include <unistd.h>

static void never(void)
{
    abort();
}

static void quick(void)
{
    _exit(0);
}

int main(void)
{
    atexit(never);
    at_quick_exit(quick);
    quick_exit(1);
}
