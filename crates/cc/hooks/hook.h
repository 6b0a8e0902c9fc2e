/* Hooks of a program that works without raddle.
 *
 * A hook jumps to where its slot points. The slot points to a function that does what the program
 * needs when it is not watched: nothing, or the plain operation. raddle's runtime, if it was loaded,
 * finds the slots by a note and fills in its own functions. So a call costs what a call through the
 * procedure linkage table costs, and a program needs no library of raddle's.
 *
 * Every linked file has its own hooks. Code is in the section `raddle_hooks`, so that it is told
 * apart from code that was compiled without hooks.
 */
#ifndef RADDLE_HOOK_H
#define RADDLE_HOOK_H

/* What depends on the processor: how to jump to where a slot points, how to wait for a moment, and how
 * to exchange 16 bytes if they have a value. */
#if defined(__x86_64__)
#define JUMP_BY_SLOT "jmp *1f(%rip)\n"
#define PAUSE() __builtin_ia32_pause()
#define EXCHANGE_WIDE(at, old, new_value) __sync_val_compare_and_swap(at, old, new_value)
#elif defined(__aarch64__)
#define JUMP_BY_SLOT                      \
    "adrp x16, 1f\n"                      \
    "ldr x16, [x16, #:lo12:1f]\n"         \
    "br x16\n"
#define PAUSE() __asm__ volatile("yield")
#define EXCHANGE_WIDE(at, old, new_value) raddle_exchange_wide(at, old, new_value)
/* gcc would call a function of libatomic. */
static inline unsigned __int128 raddle_exchange_wide(volatile unsigned __int128 *at, unsigned __int128 old,
                                                     unsigned __int128 new_value) {
    unsigned long low, high, next_low, next_high;
    unsigned int failed;
    __asm__ volatile("1: ldaxp %0, %1, [%5]\n"
                     "cmp %0, %6\n"
                     "ccmp %1, %7, #0, eq\n"
                     "csel %2, %8, %0, eq\n"
                     "csel %3, %9, %1, eq\n"
                     "stlxp %w4, %2, %3, [%5]\n"
                     "cbnz %w4, 1b\n"
                     : "=&r"(low), "=&r"(high), "=&r"(next_low), "=&r"(next_high), "=&r"(failed)
                     : "r"(at), "r"((unsigned long)old), "r"((unsigned long)(old >> 64)),
                       "r"((unsigned long)new_value), "r"((unsigned long)(new_value >> 64))
                     : "cc", "memory");
    return (unsigned __int128)high << 64 | low;
}
#endif

/* Kept, because only assembly refers to it. */
#define OTHERWISE static __attribute__((used, section("raddle_hooks")))

/* The size of the symbol stays 0: the body is elsewhere. */
#define HOOK_AS(visibility, name, otherwise)               \
    __asm__(".pushsection raddle_hooks,\"ax\",@progbits\n" \
            ".weak " name "\n" visibility                  \
            ".type " name ",@function\n" name ":\n"        \
            JUMP_BY_SLOT                                   \
            ".popsection\n"                                \
            ".pushsection raddle_slots,\"aw\",@progbits\n" \
            ".balign 8\n"                                  \
            "1: .quad " otherwise "\n"                     \
            ".long 2f - .\n"                               \
            ".long 0\n"                                    \
            ".popsection\n"                                \
            ".pushsection .rodata.raddle,\"a\",@progbits\n" \
            "2: .asciz \"" name "\"\n"                     \
            ".popsection\n")

/* A function that only compilers call. */
#define HOOK(name, otherwise) HOOK_AS(".hidden " name "\n", name, otherwise)
/* A function that programs call, or define themselves. */
#define PUBLIC_HOOK(name, otherwise) HOOK_AS("", name, otherwise)

#endif
