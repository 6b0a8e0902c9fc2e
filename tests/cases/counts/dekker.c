// compilers: gcc clang
// check:
// flags: -DN=1
// verdict: verified
// executions: 7
// blocked: 0
// check:
// flags: -DN=2
// verdict: verified
// executions: 107
// blocked: 0
// check: --strategy dpor
// flags: -DN=2
// verdict: verified
// executions: 107
// check: --granularity access
// flags: -DN=2
// verdict: verified
// executions: 107
// blocked: 0
// check:
// flags: -DN=3
// verdict: verified
// executions: 1833
// blocked: 0
// check:
// flags: -DN=4
// verdict: verified
// executions: 33147
// blocked: 0

// Two threads, N rounds of raising a flag, looking at the other's, lowering it. N = 1 by hand: each
// thread's read of the other's flag comes before, inside or after the time it is up: 3 x 3, less
// the two pairs that would need a cycle (each before the other is up; each after the other is
// down).
#include "../../../bench/programs/dekker.c"
