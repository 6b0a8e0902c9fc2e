/* Functions of the Software Verification Competition. Open values are 0 without raddle. */
#include "hook.h"

#if defined(__x86_64__)
enum { WRITE = 1, EXIT_GROUP = 231 };
OTHERWISE long raddle_system_call(long number, long first, long second, long third) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
}
#elif defined(__aarch64__)
enum { WRITE = 64, EXIT_GROUP = 94 };
OTHERWISE long raddle_system_call(long number, long first, long second, long third) {
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = first;
    register long x1 __asm__("x1") = second;
    register long x2 __asm__("x2") = third;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
}
#endif

OTHERWISE void raddle_reached(void) {
    static const char text[] = "reach_error was called\n";
    raddle_system_call(WRITE, 2, (long)text, sizeof text - 1);
    raddle_system_call(EXIT_GROUP, 134, 0, 0);
}
OTHERWISE void raddle_claim(int condition) {
    if (!condition)
        raddle_reached();
}
OTHERWISE void raddle_do_nothing(void) {}
PUBLIC_HOOK("reach_error", "raddle_reached");
PUBLIC_HOOK("__VERIFIER_error", "raddle_reached");
PUBLIC_HOOK("__VERIFIER_assert", "raddle_claim");
PUBLIC_HOOK("assume_abort_if_not", "raddle_do_nothing");
PUBLIC_HOOK("__VERIFIER_nondet_memory", "raddle_do_nothing");

OTHERWISE unsigned __int128 raddle_open(void) { return 0; }
OTHERWISE double raddle_open_number(void) { return 0; }
PUBLIC_HOOK("__VERIFIER_nondet_float", "raddle_open_number");
PUBLIC_HOOK("__VERIFIER_nondet_double", "raddle_open_number");
#define OPEN(type) PUBLIC_HOOK("__VERIFIER_nondet_" #type, "raddle_open")
OPEN(bool);
OPEN(char);
OPEN(charp);
OPEN(const_char_pointer);
OPEN(int);
OPEN(int128);
OPEN(loff_t);
OPEN(long);
OPEN(longlong);
OPEN(off_t);
OPEN(pchar);
OPEN(pointer);
OPEN(pthread_t);
OPEN(s16);
OPEN(s32);
OPEN(s64);
OPEN(s8);
OPEN(sector_t);
OPEN(short);
OPEN(size_t);
OPEN(u16);
OPEN(u32);
OPEN(u64);
OPEN(u8);
OPEN(uchar);
OPEN(uint);
OPEN(uint128);
OPEN(ulong);
OPEN(ulonglong);
OPEN(unsigned);
OPEN(unsigned_char);
OPEN(unsigned_int);
OPEN(ushort);
