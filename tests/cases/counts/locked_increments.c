// check:
// flags: -DN=4
// verdict: verified
// executions: 24
// blocked: 0
// check: --strategy dpor
// flags: -DN=4
// verdict: verified
// executions: 24
// check: --granularity access
// flags: -DN=4
// verdict: verified
// executions: 24
// check:
// flags: -DN=8
// verdict: verified
// executions: 40320
// blocked: 0

// N threads with one critical section each: N! orders.
#include "../../../bench/programs/locked_increments.c"
