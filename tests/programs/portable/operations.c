/* Every hook that does something without raddle: atomic operations of all widths, objects of odd
 * sizes, copies. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef unsigned __int128 u128;

static void show(const char *what, u128 value) {
    printf("%s %llx %llx\n", what, (unsigned long long)(value >> 64), (unsigned long long)value);
}

#define WIDTH(type, name)                                                                          \
    static void name(void) {                                                                       \
        static type word = (type)5;                                                                \
        type expected = (type)1;                                                                   \
        show(#name " load", __atomic_load_n(&word, __ATOMIC_ACQUIRE));                             \
        __atomic_store_n(&word, (type)~(type)6, __ATOMIC_RELEASE);                                 \
        show(#name " exchange", __atomic_exchange_n(&word, (type)12, __ATOMIC_SEQ_CST));           \
        show(#name " add", __atomic_fetch_add(&word, (type)3, __ATOMIC_RELAXED));                  \
        show(#name " sub", __atomic_sub_fetch(&word, (type)30, __ATOMIC_SEQ_CST));                 \
        show(#name " and", __atomic_fetch_and(&word, (type)0x7d, __ATOMIC_SEQ_CST));               \
        show(#name " or", __atomic_or_fetch(&word, (type)0x11, __ATOMIC_SEQ_CST));                 \
        show(#name " xor", __atomic_fetch_xor(&word, (type)~(type)0, __ATOMIC_SEQ_CST));           \
        show(#name " nand", __atomic_nand_fetch(&word, (type)0x33, __ATOMIC_SEQ_CST));             \
        for (int i = 0; i < 2; i++) {                                                              \
            int done = __atomic_compare_exchange_n(&word, &expected, (type)77, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED); \
            show(#name " exchanged", done);                                                        \
            show(#name " expected", expected);                                                     \
        }                                                                                          \
        show(#name " old", __sync_val_compare_and_swap(&word, (type)77, (type)78));                \
        __atomic_thread_fence(__ATOMIC_SEQ_CST);                                                   \
        show(#name " word", word);                                                                 \
    }
WIDTH(unsigned char, one)
WIDTH(unsigned short, two)
WIDTH(unsigned, four)
WIDTH(unsigned long, eight)
WIDTH(u128, sixteen)

struct odd {
    char bytes[11];
};

static void odd_sizes(void) {
    static _Atomic struct odd object;
    struct odd first = {"first"}, second = {"second"}, seen;
    atomic_store(&object, first);
    seen = atomic_exchange(&object, second);
    puts(seen.bytes);
    memset(&seen, 0, sizeof seen);
    printf("%d ", atomic_compare_exchange_strong(&object, &seen, first));
    puts(seen.bytes);
    printf("%d ", atomic_compare_exchange_strong(&object, &seen, first));
    seen = atomic_load(&object);
    puts(seen.bytes);
}

static void copies(void) {
    char text[64] = "abc", other[64];
    volatile size_t size = 64;
    memset(other, 'x', size);
    memcpy(other, text, 4);
    memmove(other + 1, other, size - 40);
    strcat(other, "def");
    strncat(other, "ghijkl", 3);
    char *copy = strdup(other);
    printf("%s %s %zu %d %d\n", other, copy, strlen(copy), strcmp(copy, other), strncmp(copy, "aab", 2));
    printf("%s %s %d\n", strchr(copy, 'd'), strrchr(copy, 'a'), memcmp(copy, other, 5));
    printf("%s %s %zu\n", strstr(copy, "cd"), (char *)memchr(copy, 'f', 12), strnlen(copy, 4));
    strcpy(text, copy);
    strncpy(text, "zz", 2);
    bzero(other, sizeof other);
    printf("%s [%s] %d\n", text, other, bcmp(text, copy, 3) != 0);
    free(copy);
}

int main(void) {
    one();
    two();
    four();
    eight();
    sixteen();
    odd_sizes();
    copies();
    return 0;
}
