/* The hooks that compilers insert, and annotations that programs may refer to weakly: part of every
 * link. */
#include "hook.h"

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef unsigned __int128 u128;

/* Where raddle's runtime finds the slots. The version is `raddle_wire::hooks::VERSION`. */
__asm__(".hidden __start_raddle_slots\n"
        ".hidden __stop_raddle_slots\n"
        ".pushsection .note.raddle_hooks,\"a\",@note\n"
        ".balign 4\n"
        ".long 7, 12, 2\n"
        ".asciz \"raddle\"\n"
        ".balign 4\n"
        ".long 1\n"
        ".long __start_raddle_slots - .\n"
        ".long __stop_raddle_slots - .\n"
        ".popsection\n");

#if defined(__x86_64__)
#define JUMP_IF_LOADED                            \
    "mov __raddle_start@GOTPCREL(%rip), %rax\n"   \
    "test %rax, %rax\n"                           \
    "je 1f\n"                                     \
    "jmp *%rax\n"                                 \
    "1: ret\n"
#define CLEAR_RESULTS    \
    "xor %eax, %eax\n"   \
    "xor %edx, %edx\n"   \
    "pxor %xmm0, %xmm0\n"
#elif defined(__aarch64__)
#define JUMP_IF_LOADED                                \
    "adrp x16, :got:__raddle_start\n"                 \
    "ldr x16, [x16, #:got_lo12:__raddle_start]\n"     \
    "cbz x16, 1f\n"                                   \
    "br x16\n"                                        \
    "1: ret\n"
#define CLEAR_RESULTS \
    "mov x0, #0\n"    \
    "mov x1, #0\n"    \
    "movi v0.2d, #0\n"
#endif

/* Hands over to raddle's runtime, if it was loaded, before all constructors of this file. */
__asm__(".pushsection .init_array.00000,\"aw\",@init_array\n"
        ".balign 8\n"
        ".quad raddle_begin\n"
        ".popsection\n"
        ".pushsection raddle_hooks,\"ax\",@progbits\n"
        ".weak __raddle_start\n"
        ".type raddle_begin,@function\n"
        "raddle_begin:\n"
        JUMP_IF_LOADED
        /* The result of a function of any type is 0. */
        ".type raddle_zero,@function\n"
        "raddle_zero:\n"
        CLEAR_RESULTS
        ".type raddle_nothing,@function\n"
        "raddle_nothing: ret\n"
        ".popsection\n");

#define NOTHING(name) HOOK(name, "raddle_nothing")

#define ACCESS(size)                       \
    NOTHING("__tsan_read" #size);          \
    NOTHING("__tsan_write" #size);         \
    NOTHING("__tsan_read" #size "_pc");    \
    NOTHING("__tsan_write" #size "_pc");   \
    NOTHING("__tsan_read_write" #size);    \
    NOTHING("__tsan_volatile_read" #size); \
    NOTHING("__tsan_volatile_write" #size)
#define UNALIGNED(size)                              \
    NOTHING("__tsan_unaligned_read" #size);          \
    NOTHING("__tsan_unaligned_write" #size);         \
    NOTHING("__tsan_unaligned_read_write" #size);    \
    NOTHING("__tsan_unaligned_volatile_read" #size); \
    NOTHING("__tsan_unaligned_volatile_write" #size)
ACCESS(1);
ACCESS(2);
ACCESS(4);
ACCESS(8);
ACCESS(16);
UNALIGNED(2);
UNALIGNED(4);
UNALIGNED(8);
UNALIGNED(16);
NOTHING("__tsan_read_range");
NOTHING("__tsan_write_range");
NOTHING("__tsan_vptr_read");
NOTHING("__tsan_vptr_update");
NOTHING("__tsan_func_entry");
NOTHING("__tsan_func_exit");
NOTHING("__tsan_init");
NOTHING("__tsan_ignore_thread_begin");
NOTHING("__tsan_ignore_thread_end");
NOTHING("__tsan_atomic_signal_fence");
NOTHING("raddle_unseen_assembly");
NOTHING("raddle_unseen_intrinsic");

OTHERWISE void raddle_pause(void) { PAUSE(); }
HOOK("__raddle_on_failed_poll", "raddle_pause");

/* The linker redirects calls of these functions to `__wrap_`. Weak, because a file may be linked
 * without the C library. */
#define C_LIBRARY(name)             \
    __asm__(".weak __real_" #name); \
    HOOK("__wrap_" #name, "__real_" #name)
C_LIBRARY(memcpy);
C_LIBRARY(memmove);
C_LIBRARY(memset);
C_LIBRARY(memcmp);
C_LIBRARY(strcpy);
C_LIBRARY(strncpy);
C_LIBRARY(strcat);
C_LIBRARY(strlen);
C_LIBRARY(strcmp);
C_LIBRARY(strncmp);
C_LIBRARY(strchr);
C_LIBRARY(strdup);
C_LIBRARY(bcmp);
C_LIBRARY(bzero);
C_LIBRARY(mempcpy);
C_LIBRARY(stpcpy);
C_LIBRARY(strncat);
C_LIBRARY(memchr);
C_LIBRARY(strrchr);
C_LIBRARY(strnlen);
C_LIBRARY(strstr);
HOOK("__tsan_memcpy", "__real_memcpy");
HOOK("__tsan_memmove", "__real_memmove");
HOOK("__tsan_memset", "__real_memset");

#define UNALIGNED_WORD(word, bits)                                                                      \
    OTHERWISE word raddle_load##bits(const void *at) {                                                  \
        struct __attribute__((packed)) any { word value; };                                             \
        return ((const struct any *)at)->value;                                                         \
    }                                                                                                   \
    OTHERWISE void raddle_store##bits(void *at, word value) {                                           \
        struct __attribute__((packed)) any { word value; };                                             \
        ((struct any *)at)->value = value;                                                              \
    }                                                                                                   \
    HOOK("__sanitizer_unaligned_load" #bits, "raddle_load" #bits);                                      \
    HOOK("__sanitizer_unaligned_store" #bits, "raddle_store" #bits)
UNALIGNED_WORD(u16, 16);
UNALIGNED_WORD(u32, 32);
UNALIGNED_WORD(u64, 64);

/* Atomic operations, always sequentially consistent. */
OTHERWISE void raddle_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
HOOK("__tsan_atomic_thread_fence", "raddle_fence");

#define NARROW(at, old, new_value) __sync_val_compare_and_swap(at, old, new_value)
#define EXCHANGE_IF(word, bits, exchange_if)                                                                 \
    OTHERWISE word raddle_cas##bits(volatile word *at, word old, word new_value) {                           \
        return exchange_if(at, old, new_value);                                                              \
    }                                                                                                        \
    OTHERWISE int raddle_cas_or_tell##bits(volatile word *at, word *expected, word new_value) {              \
        word old = *expected, seen = exchange_if(at, old, new_value);                                        \
        *expected = seen;                                                                                    \
        return seen == old;                                                                                  \
    }                                                                                                        \
    HOOK("__tsan_atomic" #bits "_compare_exchange_val", "raddle_cas" #bits);                                 \
    HOOK("__tsan_atomic" #bits "_compare_exchange_strong", "raddle_cas_or_tell" #bits);                      \
    HOOK("__tsan_atomic" #bits "_compare_exchange_weak", "raddle_cas_or_tell" #bits)
#define UPDATE(word, bits, exchange_if, name, result)                                                        \
    OTHERWISE word raddle_##name##bits(volatile word *at, word operand) {                                    \
        word old = raddle_read##bits(at);                                                                    \
        for (;;) {                                                                                           \
            word seen = exchange_if(at, old, (word)(result));                                                \
            if (seen == old)                                                                                 \
                return old;                                                                                  \
            old = seen;                                                                                      \
        }                                                                                                    \
    }                                                                                                        \
    HOOK("__tsan_atomic" #bits "_" #name, "raddle_" #name #bits)
#define ATOMIC(word, bits, exchange_if, load)                                \
    OTHERWISE word raddle_read##bits(volatile word *at) { return load; }     \
    HOOK("__tsan_atomic" #bits "_load", "raddle_read" #bits);                \
    EXCHANGE_IF(word, bits, exchange_if);                                    \
    UPDATE(word, bits, exchange_if, exchange, operand);                      \
    HOOK("__tsan_atomic" #bits "_store", "raddle_exchange" #bits);           \
    UPDATE(word, bits, exchange_if, fetch_add, old + operand);               \
    UPDATE(word, bits, exchange_if, fetch_sub, old - operand);               \
    UPDATE(word, bits, exchange_if, fetch_and, old &operand);                \
    UPDATE(word, bits, exchange_if, fetch_or, old | operand);                \
    UPDATE(word, bits, exchange_if, fetch_xor, old ^ operand);               \
    UPDATE(word, bits, exchange_if, fetch_nand, ~(old & operand))
ATOMIC(u8, 8, NARROW, __atomic_load_n(at, __ATOMIC_SEQ_CST));
ATOMIC(u16, 16, NARROW, __atomic_load_n(at, __ATOMIC_SEQ_CST));
ATOMIC(u32, 32, NARROW, __atomic_load_n(at, __ATOMIC_SEQ_CST));
ATOMIC(u64, 64, NARROW, __atomic_load_n(at, __ATOMIC_SEQ_CST));
/* The only atomic instruction of this width also writes. */
ATOMIC(u128, 128, EXCHANGE_WIDE, EXCHANGE_WIDE(at, 0, 0));

/* Annotations. */
#define ANNOTATION(name) PUBLIC_HOOK(name, "raddle_zero")
ANNOTATION("__tsan_acquire");
ANNOTATION("__tsan_release");
ANNOTATION("__tsan_mutex_create");
ANNOTATION("__tsan_mutex_destroy");
ANNOTATION("__tsan_mutex_pre_lock");
ANNOTATION("__tsan_mutex_post_lock");
ANNOTATION("__tsan_mutex_pre_unlock");
ANNOTATION("__tsan_mutex_post_unlock");
ANNOTATION("__tsan_mutex_pre_signal");
ANNOTATION("__tsan_mutex_post_signal");
ANNOTATION("__tsan_mutex_pre_divert");
ANNOTATION("__tsan_mutex_post_divert");
ANNOTATION("AnnotateBenignRace");
ANNOTATION("AnnotateBenignRaceSized");
ANNOTATION("AnnotateCondVarSignal");
ANNOTATION("AnnotateCondVarSignalAll");
ANNOTATION("AnnotateCondVarWait");
ANNOTATION("AnnotateEnableRaceDetection");
ANNOTATION("AnnotateExpectRace");
ANNOTATION("AnnotateFlushExpectedRaces");
ANNOTATION("AnnotateFlushState");
ANNOTATION("AnnotateHappensAfter");
ANNOTATION("AnnotateHappensBefore");
ANNOTATION("AnnotateIgnoreReadsBegin");
ANNOTATION("AnnotateIgnoreReadsEnd");
ANNOTATION("AnnotateIgnoreSyncBegin");
ANNOTATION("AnnotateIgnoreSyncEnd");
ANNOTATION("AnnotateIgnoreWritesBegin");
ANNOTATION("AnnotateIgnoreWritesEnd");
ANNOTATION("AnnotateMutexIsUsedAsCondVar");
ANNOTATION("AnnotateNewMemory");
ANNOTATION("AnnotateNoOp");
ANNOTATION("AnnotatePCQCreate");
ANNOTATION("AnnotatePCQDestroy");
ANNOTATION("AnnotatePCQGet");
ANNOTATION("AnnotatePCQPut");
ANNOTATION("AnnotatePublishMemoryRange");
ANNOTATION("AnnotateRWLockAcquired");
ANNOTATION("AnnotateRWLockCreate");
ANNOTATION("AnnotateRWLockCreateStatic");
ANNOTATION("AnnotateRWLockDestroy");
ANNOTATION("AnnotateRWLockReleased");
ANNOTATION("AnnotateThreadName");
ANNOTATION("AnnotateTraceMemory");
ANNOTATION("AnnotateUnpublishMemoryRange");
ANNOTATION("raddle_choose");
ANNOTATION("__VERIFIER_assume");
