// flags: -DTHREADS=3
// check:
// verdict: verified
// executions: 6
// blocked: 0

// As hand_over_hand.c with three threads: 3! orders.
#include "hand_over_hand.c"
