/* libatomic's functions, for programs that are linked without it. A plain build of them fails. */
#include "hook.h"

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef unsigned __int128 u128;

#define NARROW(at, old, new_value) __sync_val_compare_and_swap(at, old, new_value)
#define UPDATE(word, bytes, exchange_if, name, result, returned)                           \
    OTHERWISE word raddle_##name##_##bytes(volatile word *at, word operand) {              \
        word old = *at;                                                                    \
        for (;;) {                                                                         \
            word seen = exchange_if(at, old, (word)(result));                              \
            if (seen == old)                                                               \
                return (word)(returned);                                                   \
            old = seen;                                                                    \
        }                                                                                  \
    }                                                                                      \
    PUBLIC_HOOK("__atomic_" #name "_" #bytes, "raddle_" #name "_" #bytes)
#define BOTH(word, bytes, exchange_if, name, result)                    \
    UPDATE(word, bytes, exchange_if, fetch_##name, result, old);        \
    UPDATE(word, bytes, exchange_if, name##_fetch, result, result)
#define WIDTH(word, bytes, exchange_if, load)                                                       \
    OTHERWISE word raddle_load_##bytes(volatile word *at) { return load; }                          \
    PUBLIC_HOOK("__atomic_load_" #bytes, "raddle_load_" #bytes);                                    \
    OTHERWISE int raddle_exchange_if_##bytes(volatile word *at, word *expected, word operand) {     \
        word old = *expected;                                                                       \
        *expected = exchange_if(at, old, operand);                                                  \
        return *expected == old;                                                                    \
    }                                                                                               \
    PUBLIC_HOOK("__atomic_compare_exchange_" #bytes, "raddle_exchange_if_" #bytes);                 \
    UPDATE(word, bytes, exchange_if, exchange, operand, old);                                       \
    PUBLIC_HOOK("__atomic_store_" #bytes, "raddle_exchange_" #bytes);                               \
    BOTH(word, bytes, exchange_if, add, old + operand);                                             \
    BOTH(word, bytes, exchange_if, sub, old - operand);                                             \
    BOTH(word, bytes, exchange_if, and, old &operand);                                              \
    BOTH(word, bytes, exchange_if, or, old | operand);                                              \
    BOTH(word, bytes, exchange_if, xor, old ^ operand);                                             \
    BOTH(word, bytes, exchange_if, nand, ~(old & operand))
WIDTH(u8, 1, NARROW, *at);
WIDTH(u16, 2, NARROW, *at);
WIDTH(u32, 4, NARROW, *at);
WIDTH(u64, 8, NARROW, *at);
/* The only atomic instruction of this width also writes. */
WIDTH(u128, 16, EXCHANGE_WIDE, EXCHANGE_WIDE(at, 0, 0));

/* Objects of any size take one lock, which all files of a process share. */
__attribute__((weak)) volatile char raddle_atomic_lock;

OTHERWISE void raddle_take(void) {
    while (__sync_lock_test_and_set(&raddle_atomic_lock, 1))
        PAUSE();
}
OTHERWISE void raddle_leave(void) { __sync_lock_release(&raddle_atomic_lock); }

/* Not `memcpy`, which would be redirected. Volatile keeps the compiler from calling it after all. */
OTHERWISE void raddle_copy(u64 bytes, volatile char *to, const volatile char *from) {
    for (u64 i = 0; i < bytes; i++)
        to[i] = from[i];
}
OTHERWISE void raddle_load_any(u64 bytes, const void *at, void *result) {
    raddle_take();
    raddle_copy(bytes, result, at);
    raddle_leave();
}
OTHERWISE void raddle_store_any(u64 bytes, void *at, const void *value) {
    raddle_take();
    raddle_copy(bytes, at, value);
    raddle_leave();
}
OTHERWISE void raddle_exchange_any(u64 bytes, volatile char *at, const volatile char *value, volatile char *result) {
    raddle_take();
    for (u64 i = 0; i < bytes; i++) {
        char old = at[i];
        at[i] = value[i];
        result[i] = old;
    }
    raddle_leave();
}
OTHERWISE int raddle_exchange_if_any(u64 bytes, volatile char *at, volatile char *expected, const volatile char *value) {
    int equal = 1;
    raddle_take();
    for (u64 i = 0; i < bytes; i++)
        equal &= at[i] == expected[i];
    raddle_copy(bytes, equal ? at : expected, equal ? value : at);
    raddle_leave();
    return equal;
}
PUBLIC_HOOK("__atomic_load", "raddle_load_any");
PUBLIC_HOOK("__atomic_store", "raddle_store_any");
PUBLIC_HOOK("__atomic_exchange", "raddle_exchange_any");
PUBLIC_HOOK("__atomic_compare_exchange", "raddle_exchange_if_any");
