// compilers: gcc clang
// check:
// flags: -O0
// verdict: bug
// finding: data-race var=to[23] line=20 line2=29
// finding: data-race var=from[0] line=21 line2=29
// check:
// flags: -O2
// verdict: bug
// finding: data-race var=to[23] line=20 line2=29
// finding: data-race var=from[0] line=21 line2=29

// A copy that is spelled as a built-in, of a size that compilers expand in line.
#include <pthread.h>

static char from[24], to[24];

static void *use_both(void *arg)
{
    to[23] = 1;
    from[0] = 1;
    return NULL;
}

int main(void)
{
    pthread_t a;
    pthread_create(&a, NULL, use_both, NULL);
    __builtin_memcpy(to, from, 23 + 1);
    pthread_join(a, NULL);
    return to[0];
}
