// check:
// verdict: bug
// finding: data-race line=15 line2=21

// Neighbouring bit-fields share a memory location: writing both from two threads is a race.
#include <pthread.h>

struct {
    unsigned low : 4;
    unsigned high : 4;
} bits;

static void *one(void *arg)
{
    bits.low = 1;
    return NULL;
}

static void *two(void *arg)
{
    bits.high = 2;
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
