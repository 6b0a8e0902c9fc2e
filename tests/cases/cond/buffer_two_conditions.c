// compilers: gcc clang
// check:
// flags: -DPRODUCERS=1 -DCONSUMERS=1 -DITEMS=1
// verdict: verified
// executions: 2
// blocked: 0
// check:
// flags: -DPRODUCERS=1 -DCONSUMERS=1 -DITEMS=2
// verdict: verified
// executions: 8
// blocked: 0
// check:
// flags: -DPRODUCERS=2 -DCONSUMERS=1 -DITEMS=1
// verdict: verified
// executions: 16
// blocked: 0
// check:
// flags: -DPRODUCERS=2 -DCONSUMERS=2 -DITEMS=1
// verdict: verified
// executions: 64
// blocked: 0

// A buffer of one slot with a condition variable for each direction, signal under the lock.
#include "../../../bench/programs/buffer_two_conditions.c"
