// check:
// flags: -O0
// verdict: verified
// check:
// flags: -O2
// verdict: verified

// gcc places no hook where it copies an argument, and no single optimizer switch makes it. The race
// is missed.
#include "struct_argument.c"
