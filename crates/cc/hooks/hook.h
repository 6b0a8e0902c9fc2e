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

/* Kept, because only assembly refers to it. */
#define OTHERWISE static __attribute__((used, section("raddle_hooks")))

/* The size of the symbol stays 0: the body is elsewhere. */
#define HOOK_AS(visibility, name, otherwise)               \
    __asm__(".pushsection raddle_hooks,\"ax\",@progbits\n" \
            ".weak " name "\n" visibility                  \
            ".type " name ",@function\n" name ":\n"        \
            "jmp *1f(%rip)\n"                              \
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
