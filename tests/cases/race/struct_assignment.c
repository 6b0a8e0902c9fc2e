// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race var=shared line=17 line2=23

// A whole struct assigned without a lock.
#include <pthread.h>

struct point {
    long x, y, z, w;
};

struct point shared, here = { 1, 2, 3, 4 }, seen;

static void *one(void *arg)
{
    shared = here;
    return NULL;
}

static void *two(void *arg)
{
    seen = shared;
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, one, NULL);
    pthread_create(&b, NULL, two, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
