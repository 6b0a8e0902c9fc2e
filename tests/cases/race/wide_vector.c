// compilers: gcc clang
// check:
// flags: -O0
// verdict: bug
// finding: data-race line=20 line2=28
// check:
// flags: -O2
// verdict: bug
// finding: data-race line=20 line2=28

// One thread reads a vector of 32 bytes, and the other writes its last element.
#include <pthread.h>

typedef int Vector __attribute__((vector_size(32)));

static Vector shared;

static void *write_last(void *arg)
{
    ((int *)&shared)[7] = 1;
    return NULL;
}

int main(void)
{
    pthread_t a;
    pthread_create(&a, NULL, write_last, NULL);
    volatile Vector copy = shared;
    (void)copy;
    pthread_join(a, NULL);
    return 0;
}
