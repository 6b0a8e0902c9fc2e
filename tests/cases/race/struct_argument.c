// compilers: gcc clang
// check:
// flags: -O0
// verdict: bug
// finding: data-race line=27 line2=35
// check:
// flags: -O2
// verdict: bug
// finding: data-race line=27 line2=35

// A large argument is passed as a copy in memory. Making the copy reads the whole object.
#include <pthread.h>

struct Block {
    long parts[10];
};

static struct Block shared;

__attribute__((noinline)) static long part(struct Block block, int index)
{
    return block.parts[index];
}

static void *write_last(void *arg)
{
    shared.parts[9] = 1;
    return NULL;
}

int main(void)
{
    pthread_t a;
    pthread_create(&a, NULL, write_last, NULL);
    volatile long last = part(shared, 9);
    (void)last;
    pthread_join(a, NULL);
    return 0;
}
