// compilers: gcc clang
// check:
// flags: -O0
// verdict: verified
// check:
// flags: -O2
// verdict: verified

// Assembly that accesses no memory takes nothing from the verdict.
#include <pthread.h>

static void *fences(void *arg)
{
    unsigned low, high;
    __asm__ volatile("mfence" ::: "memory");
    __asm__ volatile("" ::: "memory");
    __asm__ volatile("rep; nop" ::: "memory");
    __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high)::"memory");
    return NULL;
}

int main(void)
{
    pthread_t a;
    pthread_create(&a, NULL, fences, NULL);
    fences(NULL);
    pthread_join(a, NULL);
    return 0;
}
