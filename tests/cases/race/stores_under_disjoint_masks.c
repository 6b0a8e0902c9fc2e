// compilers: gcc clang
// check:
// flags: -O0 -mavx2
// verdict: verified
// check:
// flags: -O2 -mavx2
// verdict: verified

// At -O2 clang stores vectors under a mask. The elements that the mask leaves out are not written:
// no element is in a race.
#include <pthread.h>

static int wanted[32], numbers[32];

__attribute__((noinline)) static void count(const int *restrict which, int *restrict to)
{
    for (int i = 0; i < 32; i++)
        if (which[i])
            to[i] = i;
}

static void *others(void *arg)
{
    for (int i = 0; i < 32; i++)
        if (i % 2)
            ((volatile int *)numbers)[i] = 0;
    return NULL;
}

int main(void)
{
    pthread_t a;
    for (int i = 0; i < 32; i += 2)
        wanted[i] = 1;

    pthread_create(&a, NULL, others, NULL);
    count(wanted, numbers);
    pthread_join(a, NULL);
    return 0;
}
