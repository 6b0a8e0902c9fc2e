// compilers: gcc clang
// check:
// flags: -O0
// verdict: bug
// finding: data-race line=36 line2=27
// check:
// flags: -O2
// verdict: bug
// finding: data-race line=36 line2=27

// The result of a function that may throw instead: only if it returns is the result stored.
#include <pthread.h>

struct Block {
    long parts[10];
};

static Block shared;

__attribute__((noinline)) static Block filled(bool fails)
{
    if (fails)
        throw 1;
    return Block{{1}};
}

static void *read_last(void *) { return (void *)shared.parts[9]; }

int main()
{
    pthread_t a;
    pthread_create(&a, nullptr, read_last, nullptr);
    for (int i = 0; i < 2; i++) {
        try {
            if (i == 1)
                shared = filled(false);
            else
                shared = filled(true);
        } catch (int) {
        }
    }
    pthread_join(a, nullptr);
    return 0;
}
