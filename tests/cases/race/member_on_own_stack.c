// compilers: gcc clang
// check:
// flags: -O0
// verdict: bug
// finding: data-race line=22 line2=31
// check:
// flags: -O2
// verdict: bug
// finding: data-race line=22 line2=31

// The address of the struct goes to another thread. The access of its owner is to a member that is
// not the first.
#include <pthread.h>

struct Pair {
    long first, second;
};

static void *write_second(void *arg)
{
    struct Pair *pair = arg;
    pair->second = 1;
    return NULL;
}

int main(void)
{
    struct Pair pair = {0, 0};
    pthread_t a;
    pthread_create(&a, NULL, write_second, &pair);
    pair.second = 2;
    pthread_join(a, NULL);
    return pair.first != 0;
}
