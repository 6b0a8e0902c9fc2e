// check:
// verdict: bug
// finding: data-race detail=write-write line=15 line2=21

// One byte of an int: accesses of different sizes that overlap.
#include <pthread.h>

union {
    unsigned word;
    unsigned char byte[4];
} u;

static void *one(void *arg)
{
    u.word = 0x01020304;
    return NULL;
}

static void *two(void *arg)
{
    u.byte[2] = 9;
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
