// check:
// verdict: bug
// finding: data-race line=13 line2=23

// A block from posix_memalign is one as any other.
#include <pthread.h>
#include <stdlib.h>

static int *block;

static void *work(void *arg)
{
    block[15] = 1;
    return arg;
}

int main(void)
{
    pthread_t a;
    if (posix_memalign((void **)&block, 64, 64))
        return 1;
    pthread_create(&a, NULL, work, NULL);
    block[15] = 2;
    pthread_join(a, NULL);
    free(block);
    return 0;
}
