// compilers: gcc clang
// check:
// flags: -O0
// verdict: incomplete
// check:
// flags: -O2
// verdict: incomplete

// What atomic assembly does is not known: it is no race, but no proof of its absence either.
#include <pthread.h>

static int count;

static void *increment(void *arg)
{
    __asm__ volatile("lock; incl %0" : "+m"(count));
    return NULL;
}

int main(void)
{
    pthread_t a;
    pthread_create(&a, NULL, increment, NULL);
    increment(NULL);
    pthread_join(a, NULL);
    return 0;
}
