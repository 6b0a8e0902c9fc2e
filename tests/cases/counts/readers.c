// check:
// flags: -DN=2
// verdict: verified
// executions: 4
// blocked: 0
// check:
// flags: -DN=13
// verdict: verified
// executions: 8192
// blocked: 0
// check: --strategy dpor
// flags: -DN=5
// verdict: verified
// executions: 32

// One writer and N readers of one atomic: each reader sees the old or the new value, 2^N.
#include "../../../bench/programs/readers.c"
