// compilers: gcc clang
// check: --granularity access
// flags: -O0
// verdict: bug
// findings: at-least
// finding: assertion detail=assert
// check: --granularity access
// flags: -O2
// verdict: bug
// findings: at-least
// finding: assertion detail=assert

// A store to a bit-field loads and stores the bytes around it. The other thread's store between the
// two is lost.
#include <assert.h>
#include <pthread.h>

static struct {
    unsigned low : 4;
    unsigned high : 4;
} bits;

static void *set_low(void *arg)
{
    bits.low = 1;
    return NULL;
}

int main(void)
{
    pthread_t a;
    pthread_create(&a, NULL, set_low, NULL);
    bits.high = 2;
    pthread_join(a, NULL);
    assert(bits.low == 1 && bits.high == 2);
    return 0;
}
