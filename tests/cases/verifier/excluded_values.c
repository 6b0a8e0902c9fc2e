// check: --nondet 0,1
// verdict: incomplete
// executions: 0
// check: --nondet 0..3
// verdict: bug
// finding: assertion detail=assert

// An assumption that excludes all values that are tried says nothing of the others.
#include <assert.h>

int __VERIFIER_nondet_int(void);
void __VERIFIER_assume(int);

int main(void)
{
    int value = __VERIFIER_nondet_int();
    __VERIFIER_assume(value > 1);
    assert(value < 3);
    return 0;
}
