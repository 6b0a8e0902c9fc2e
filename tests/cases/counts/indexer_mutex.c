// check:
// flags: -DN=11
// verdict: verified
// executions: 1
// blocked: 0
// check:
// flags: -DN=12
// verdict: verified
// executions: 8
// blocked: 0
// check:
// flags: -DN=13
// verdict: verified
// executions: 64
// blocked: 0
// check: --strategy dpor
// flags: -DN=13
// verdict: verified
// executions: 64
// check:
// flags: -DN=14
// verdict: verified
// executions: 512
// blocked: 0
// check:
// flags: -DN=15
// verdict: verified
// executions: 4096
// blocked: 0
// check:
// flags: -DN=16
// long:
// verdict: verified
// executions: 32768
// blocked: 0

// The indexer as the Inspect paper ran it: the compare-and-swap is a function that takes a mutex,
// here one per slot.
#include "../../../bench/programs/indexer_mutex.c"
