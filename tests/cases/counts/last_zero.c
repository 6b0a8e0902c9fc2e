// check:
// flags: -DN=2
// verdict: verified
// executions: 5
// blocked: 0
// check:
// flags: -DN=5
// verdict: verified
// executions: 64
// blocked: 0
// check: --strategy dpor
// flags: -DN=5
// verdict: verified
// executions: 64
// check:
// flags: -DN=10
// verdict: verified
// executions: 3328
// blocked: 0
// check:
// flags: -DN=15
// long:
// verdict: verified
// executions: 147456
// blocked: 0

// Writer j sets a[j] = a[j-1] + 1; one thread searches for the last zero from the top.
#include "../../../bench/programs/last_zero.c"
