// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race var=table[3].count detail=write-write line=17 line2=24

// Named by index and field.
#include <pthread.h>

struct entry {
    char key[12];
    int count;
} table[8];

static void *one(void *arg)
{
    for (int i = 0; i < 4; i++)
        table[i].count = 1;
    return NULL;
}

static void *two(void *arg)
{
    for (int i = 3; i < 8; i++)
        table[i].count = 2;
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
