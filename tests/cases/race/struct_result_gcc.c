// check:
// flags: -O0
// verdict: verified
// check:
// flags: -O2
// verdict: verified

// gcc places no hook where it stores the result of a function, and no single optimizer switch makes
// it. The race is missed.
#include "struct_result.c"
