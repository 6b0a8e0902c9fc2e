// compilers: gcc clang
// check:
// flags: -O0
// verdict: bug
// finding: data-race line=27 line2=39
// finding: data-race line=27 line2=40
// check:
// flags: -O2
// verdict: bug
// finding: data-race line=27 line2=39
// finding: data-race line=27 line2=40

// Small structs travel in registers, both ways. The elements have no constant place.
#include <pthread.h>

struct Pair {
    long first, second;
};

static struct Pair shared[3];

__attribute__((noinline)) static struct Pair swapped(struct Pair pair)
{
    return (struct Pair){pair.second, pair.first};
}

__attribute__((noinline)) static void swap(int from, int to) { shared[to] = swapped(shared[from]); }

static void *swap_both(void *arg)
{
    swap(0, 1);
    return NULL;
}

int main(void)
{
    pthread_t a;
    pthread_create(&a, NULL, swap_both, NULL);
    shared[0].first = 1;
    volatile long second = shared[1].second;
    (void)second;
    pthread_join(a, NULL);
    return 0;
}
