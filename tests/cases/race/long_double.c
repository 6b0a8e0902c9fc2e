// compilers: gcc clang
// check:
// flags: -O0
// verdict: bug
// finding: data-race var=extended line=18 line2=26
// check:
// flags: -O2
// verdict: bug
// finding: data-race var=extended line=18 line2=26

// A long double is an access of 10 bytes.
#include <pthread.h>

long double extended;

static void *one(void *arg)
{
    extended = 1.0L;
    return NULL;
}

int main(void)
{
    pthread_t a;
    pthread_create(&a, NULL, one, NULL);
    extended = 2.0L;
    pthread_join(a, NULL);
    return 0;
}
