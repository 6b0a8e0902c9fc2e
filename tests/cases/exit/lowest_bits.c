// check:
// verdict: verified
// executions: 1
// check:
// flags: -DADDED=1
// verdict: bug
// finding: assertion detail=exit-status
// check: --allow-exit 1
// flags: -DADDED=1
// verdict: verified

// The system keeps the lowest eight bits of an exit status: to exit with 256 is to exit with 0.
#ifndef ADDED
#define ADDED 0
#endif

int main(void)
{
    return 256 + ADDED;
}
