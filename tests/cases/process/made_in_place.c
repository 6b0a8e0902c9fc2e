// check:
// flags: -DBY=CLONE_IN_PLACE
// verdict: incomplete
// executions: 2
// check:
// flags: -DBY=CLONE3_CALL
// verdict: incomplete
// executions: 2

// A child that runs in the memory of its parent, which is suspended meanwhile, and one that `clone3` makes.
#include "made_by_clone.c"
