// compilers: gcc clang
// check:
// flags: -O0
// verdict: bug
// finding: data-race line=30 line2=37
// check:
// flags: -O2
// verdict: bug
// finding: data-race line=30 line2=37

// The result of a function is assigned to a shared struct.
#include <pthread.h>

struct Block {
    long parts[10];
};

static struct Block shared;

__attribute__((noinline)) static struct Block filled(int value)
{
    struct Block block;
    for (int i = 0; i < 10; i++)
        block.parts[i] = value;
    return block;
}

static void *read_last(void *arg)
{
    return (void *)shared.parts[9];
}

int main(void)
{
    pthread_t a;
    pthread_create(&a, NULL, read_last, NULL);
    shared = filled(3);
    pthread_join(a, NULL);
    return 0;
}
