// check:
// verdict: incomplete
// executions: 1
// check: --nondet 0,1
// verdict: incomplete
// executions: 1
// check: --nondet 0,1,pointer=0
// verdict: verified
// executions: 1
// check: --nondet pointer=0,1
// verdict: bug
// executions: 2
// finding: assertion detail=assert

// Programs of SV-COMP take an open pointer for an open condition. Numbers for all types are not taken for
// addresses; so where no address is named, only null is tried, and nothing is verified.
#include <assert.h>

void *__VERIFIER_nondet_pointer(void);

int main(void)
{
    _Bool choice = __VERIFIER_nondet_pointer();
    assert(!choice);
    return 0;
}
