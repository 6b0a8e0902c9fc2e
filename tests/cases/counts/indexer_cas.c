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

// The indexer of the Inspect paper's Table 1, with a C11 compare-exchange as in the original
// benchmark. N threads insert four messages each into a hash table of 128 slots. Up to 11 threads
// never meet; from the 12th on each brings three slots that two threads want, so 8 times as many
// executions. A failed exchange is a read.
#include "../../../bench/programs/indexer_cas.c"
