// compilers: gcc clang
// check: --nondet -1,0,1,300,pointer=0
// verdict: verified
// executions: 15
/* The first choice says which function is called. Each of them gives those of the four values that
 * its type has: bool 2, char 3, uchar 2, short 4, uint 3, pointer 1. */
#include <assert.h>
#include <stdint.h>
#include "../../../share/raddle.h"

_Bool __VERIFIER_nondet_bool(void);
char __VERIFIER_nondet_char(void);
unsigned char __VERIFIER_nondet_uchar(void);
short __VERIFIER_nondet_short(void);
unsigned __VERIFIER_nondet_uint(void);
void *__VERIFIER_nondet_pointer(void);

int main(void)
{
    switch (RADDLE_CHOOSE(6)) {
    case 0: assert(__VERIFIER_nondet_bool() <= 1); break;
    case 1: {
        char c = __VERIFIER_nondet_char();
        assert(c >= -1 && c <= 1);
        break;
    }
    case 2: assert(__VERIFIER_nondet_uchar() <= 1); break;
    case 3: {
        short s = __VERIFIER_nondet_short();
        assert(s == -1 || s == 0 || s == 1 || s == 300);
        break;
    }
    case 4: {
        unsigned u = __VERIFIER_nondet_uint();
        assert(u <= 1 || u == 300);
        break;
    }
    default: assert(__VERIFIER_nondet_pointer() == 0);
    }
    return 0;
}
