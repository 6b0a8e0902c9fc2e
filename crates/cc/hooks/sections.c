/* Atomic sections. Apart, because their names in a program say that it has some. */
#include "hook.h"

OTHERWISE void raddle_section(void) {}
PUBLIC_HOOK("__VERIFIER_atomic_begin", "raddle_section");
PUBLIC_HOOK("__VERIFIER_atomic_end", "raddle_section");
