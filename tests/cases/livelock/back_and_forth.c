// compilers: gcc clang
// check:
// flags: -O0
// verdict: bug
// finding: livelock detail=spin
// check:
// flags: -O2
// verdict: bug
// finding: livelock detail=spin
// check: --strategy random --max-executions 5
// verdict: bug
// finding: livelock detail=spin

// A loop that writes, but takes everything back in each round. There is no other thread, so it is where it
// was for ever.
#include <stdatomic.h>

static atomic_int turn;

int main(void)
{
    for (;;) {
        int expected = 0;
        atomic_compare_exchange_strong(&turn, &expected, 1);
        expected = 1;
        atomic_compare_exchange_strong(&turn, &expected, 0);
    }
}
