// check:
// verdict: bug
// finding: crash detail=SIGSEGV line=14

// A fault in the handler of faults is deadly, because its signal is blocked there.
#include <signal.h>

static volatile int calls;

static void handler(int number)
{
    if (++calls > 1)
        return;
    *(volatile int *)16 = 1;
}

int main(void)
{
    signal(SIGSEGV, handler);
    *(volatile int *)8 = 1;
    return 0;
}
