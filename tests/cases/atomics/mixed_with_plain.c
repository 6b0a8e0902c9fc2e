// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race var=x detail=atomic-plain line=14 line2=20

// One side is atomic, the other is not: a race all the same.
#include <pthread.h>
#include <stdatomic.h>

int x, copy;

static void *writer(void *arg)
{
    __atomic_store_n(&x, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void *reader(void *arg)
{
    copy = x;
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
