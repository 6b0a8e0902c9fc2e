// check:
// flags: -DN=13
// verdict: verified
// executions: 1
// blocked: 0
// check:
// flags: -DN=16
// verdict: verified
// executions: 8
// blocked: 0
// check: --strategy dpor
// flags: -DN=16
// verdict: verified
// executions: 8
// check:
// flags: -DN=18
// verdict: verified
// executions: 32
// blocked: 0
// check:
// flags: -DN=20
// verdict: verified
// executions: 128
// blocked: 0
// check:
// flags: -DN=22
// verdict: verified
// executions: 512
// blocked: 0
// check:
// flags: -DN=24
// verdict: verified
// executions: 2048
// blocked: 0
// check:
// flags: -DN=26
// verdict: verified
// executions: 8192
// blocked: 0

// The fsbench of the Inspect paper's Table 1: block allocation under inode locks and block locks.
// Thread 13 + k starts at the block that thread k takes, so each thread above 13 doubles the number
// of executions.
#include "../../../bench/programs/fsbench.c"
