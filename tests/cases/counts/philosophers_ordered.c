// check:
// flags: -DN=2
// verdict: verified
// executions: 2
// blocked: 0
// check:
// flags: -DN=3
// verdict: verified
// executions: 6
// blocked: 0
// check: --strategy dpor
// flags: -DN=5
// verdict: verified
// executions: 30
// check:
// flags: -DN=10
// verdict: verified
// executions: 1022
// blocked: 0

// N philosophers, one meal each; the last takes its forks in the other order. Each fork has two
// users, hence 2^N orders, less the two in which all wait for their neighbour around the table.
#include "../../../bench/programs/philosophers_ordered.c"
