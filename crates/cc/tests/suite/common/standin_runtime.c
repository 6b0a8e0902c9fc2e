/* A stand-in for the runtime: every hook is there and does nothing, every wrapped function works. It lets the
 * wrapper be tested alone. */
#include <stdlib.h>
#include <string.h>

#define HOOK(name, ...) void name(__VA_ARGS__) {}

HOOK(__tsan_init, void)
HOOK(__tsan_func_entry, void *pc)
HOOK(__tsan_func_exit, void)
HOOK(__tsan_vptr_read, void **slot)
void __tsan_vptr_update(void **slot, void *value) {}
void __tsan_read_range(void *address, unsigned long size) {}
void __tsan_write_range(void *address, unsigned long size) {}

#define ACCESS(size)                                                                                              \
    HOOK(__tsan_read##size, void *address)                                                                        \
    HOOK(__tsan_write##size, void *address)                                                                       \
    HOOK(__tsan_read_write##size, void *address)                                                                  \
    HOOK(__tsan_unaligned_read##size, void *address)                                                              \
    HOOK(__tsan_unaligned_write##size, void *address)                                                             \
    HOOK(__tsan_volatile_read##size, void *address)                                                               \
    HOOK(__tsan_volatile_write##size, void *address)                                                              \
    HOOK(__tsan_unaligned_volatile_read##size, void *address)                                                     \
    HOOK(__tsan_unaligned_volatile_write##size, void *address)
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

#define ATOMIC(bits, type)                                                                                        \
    type __tsan_atomic##bits##_load(type *a, int order) { return __atomic_load_n(a, __ATOMIC_SEQ_CST); }          \
    void __tsan_atomic##bits##_store(type *a, type v, int order) { __atomic_store_n(a, v, __ATOMIC_SEQ_CST); }    \
    type __tsan_atomic##bits##_exchange(type *a, type v, int order) {                                             \
        return __atomic_exchange_n(a, v, __ATOMIC_SEQ_CST);                                                       \
    }                                                                                                             \
    type __tsan_atomic##bits##_fetch_add(type *a, type v, int order) {                                            \
        return __atomic_fetch_add(a, v, __ATOMIC_SEQ_CST);                                                        \
    }                                                                                                             \
    type __tsan_atomic##bits##_fetch_sub(type *a, type v, int order) {                                            \
        return __atomic_fetch_sub(a, v, __ATOMIC_SEQ_CST);                                                        \
    }                                                                                                             \
    type __tsan_atomic##bits##_fetch_and(type *a, type v, int order) {                                            \
        return __atomic_fetch_and(a, v, __ATOMIC_SEQ_CST);                                                        \
    }                                                                                                             \
    type __tsan_atomic##bits##_fetch_or(type *a, type v, int order) {                                             \
        return __atomic_fetch_or(a, v, __ATOMIC_SEQ_CST);                                                         \
    }                                                                                                             \
    type __tsan_atomic##bits##_fetch_nand(type *a, type v, int order) {                                           \
        return __atomic_fetch_nand(a, v, __ATOMIC_SEQ_CST);                                                       \
    }                                                                                                             \
    type __tsan_atomic##bits##_fetch_xor(type *a, type v, int order) {                                            \
        return __atomic_fetch_xor(a, v, __ATOMIC_SEQ_CST);                                                        \
    }                                                                                                             \
    int __tsan_atomic##bits##_compare_exchange_strong(type *a, type *e, type v, int order, int fail) {            \
        return __atomic_compare_exchange_n(a, e, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                       \
    }                                                                                                             \
    int __tsan_atomic##bits##_compare_exchange_weak(type *a, type *e, type v, int order, int fail) {              \
        return __atomic_compare_exchange_n(a, e, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                       \
    }                                                                                                             \
    type __tsan_atomic##bits##_compare_exchange_val(type *a, type e, type v, int order, int fail) {               \
        __atomic_compare_exchange_n(a, &e, v, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                             \
        return e;                                                                                                 \
    }
ATOMIC(8, unsigned char)
ATOMIC(16, unsigned short)
ATOMIC(32, unsigned int)
ATOMIC(64, unsigned long)

void __tsan_atomic_thread_fence(int order) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int order) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

void *__tsan_memcpy(void *d, const void *s, unsigned long n) { return memcpy(d, s, n); }
void *__tsan_memmove(void *d, const void *s, unsigned long n) { return memmove(d, s, n); }
void *__tsan_memset(void *d, int c, unsigned long n) { return memset(d, c, n); }


void *__wrap_memcpy(void *d, const void *s, size_t n) { return memcpy(d, s, n); }
void *__wrap_memmove(void *d, const void *s, size_t n) { return memmove(d, s, n); }
void *__wrap_memset(void *d, int c, size_t n) { return memset(d, c, n); }
int __wrap_memcmp(const void *a, const void *b, size_t n) { return memcmp(a, b, n); }
char *__wrap_strcpy(char *d, const char *s) { return strcpy(d, s); }
char *__wrap_strncpy(char *d, const char *s, size_t n) { return strncpy(d, s, n); }
char *__wrap_strcat(char *d, const char *s) { return strcat(d, s); }
size_t __wrap_strlen(const char *s) { return strlen(s); }
int __wrap_strcmp(const char *a, const char *b) { return strcmp(a, b); }
int __wrap_strncmp(const char *a, const char *b, size_t n) { return strncmp(a, b, n); }
char *__wrap_strchr(const char *s, int c) { return strchr(s, c); }
char *__wrap_strdup(const char *s) { return strdup(s); }
int __wrap_bcmp(const void *a, const void *b, size_t n) { return memcmp(a, b, n); }
void __wrap_bzero(void *d, size_t n) { memset(d, 0, n); }
void *__wrap_mempcpy(void *d, const void *s, size_t n) { return (char *)memcpy(d, s, n) + n; }
char *__wrap_stpcpy(char *d, const char *s) { return strcpy(d, s) + strlen(s); }
char *__wrap_strncat(char *d, const char *s, size_t n) { return strncat(d, s, n); }
void *__wrap_memchr(const void *s, int c, size_t n) { return (void *)memchr(s, c, n); }
char *__wrap_strrchr(const char *s, int c) { return (char *)strrchr(s, c); }
size_t __wrap_strnlen(const char *s, size_t n) { const char *end = memchr(s, 0, n); return end ? (size_t)(end - s) : n; }
char *__wrap_strstr(const char *s, const char *t) { return (char *)strstr(s, t); }
