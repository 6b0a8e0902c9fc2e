// compilers: gcc clang
// check:
// flags: -O0
// verdict: bug
// finding: data-race line=22 line2=28
// check:
// flags: -O2
// verdict: bug
// finding: data-race line=22 line2=28

// The bit-fields fill three bytes, which clang reads and writes at once.
#include <pthread.h>

struct __attribute__((packed)) {
    unsigned low : 12;
    unsigned high : 12;
    unsigned char other;
} bits;

static void *one(void *arg)
{
    bits.low = 1;
    return NULL;
}

static void *two(void *arg)
{
    bits.high = 2;
    bits.other = 3;
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, two, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
