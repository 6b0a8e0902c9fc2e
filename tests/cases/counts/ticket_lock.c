// check:
// flags: -DN=2
// verdict: verified
// executions: 2
// check:
// flags: -DN=3
// verdict: verified
// executions: 6
// check:
// flags: -DN=6
// verdict: verified
// executions: 720

// A ticket lock: the order of the tickets decides everything, failed looks at `serving` are no
// executions of their own.
#include "../../../bench/programs/ticket_lock.c"
