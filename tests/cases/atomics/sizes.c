// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
// blocked: 0

// Atomics of 1, 2, 4 and 8 bytes that lie side by side do not disturb each other: only the 4-byte
// one is shared by both threads, with one write and one read.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

struct {
    _Atomic uint8_t a, b;
    _Atomic uint16_t c;
    _Atomic uint32_t d;
    _Atomic uint64_t e;
} s;

static void *left(void *arg)
{
    atomic_store(&s.a, 0x11);
    atomic_store(&s.c, 0x2222);
    atomic_store(&s.d, 0x33333333u);
    return NULL;
}

static void *right(void *arg)
{
    atomic_store(&s.b, 0x44);
    atomic_store(&s.e, 0x5555555555555555u);
    uint32_t d = atomic_load(&s.d);
    assert(d == 0 || d == 0x33333333u);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, left, NULL);
    pthread_create(&b, NULL, right, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(atomic_load(&s.a) == 0x11 && atomic_load(&s.b) == 0x44);
    assert(atomic_load(&s.c) == 0x2222 && atomic_load(&s.e) == 0x5555555555555555u);
    return 0;
}
