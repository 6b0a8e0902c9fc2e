// check:
// flags: -DN=2
// verdict: verified
// executions: 4
// blocked: 0
// check:
// flags: -DN=3
// verdict: verified
// executions: 36
// blocked: 0
// check: --strategy dpor
// flags: -DN=3
// verdict: verified
// executions: 36
// check:
// flags: -DN=5
// verdict: verified
// executions: 14400
// blocked: 0

// N threads load a balance and store it plus 10, two atomic steps: (N!)^2 executions. N = 2 by
// hand: both loads before both stores (2 orders of the stores), T1 entirely before T2, T2 entirely
// before T1.
#include "../../../bench/programs/account.c"
