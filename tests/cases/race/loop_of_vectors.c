// compilers: gcc clang
// check:
// flags: -O0 -mavx2
// verdict: bug
// finding: data-race line=19 line2=19
// check:
// flags: -O2 -mavx2
// verdict: bug
// finding: data-race line=19 line2=19

// At -O2 the loop works on vectors of 32 bytes.
#include <pthread.h>

int values[64], factors[64];

__attribute__((noinline)) static void add(void)
{
    for (int i = 0; i < 64; i++)
        values[i] += factors[i];
}

static void *other(void *arg)
{
    add();
    return NULL;
}

int main(void)
{
    pthread_t a;
    pthread_create(&a, NULL, other, NULL);
    add();
    pthread_join(a, NULL);
    return 0;
}
