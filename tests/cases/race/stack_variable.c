// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race detail=write-write line=11 line2=11

// A local variable of main, shared by address.
#include <pthread.h>

static void *work(void *arg)
{
    *(int *)arg = 1;
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    int local = 0;
    pthread_create(&a, NULL, work, &local);
    pthread_create(&b, NULL, work, &local);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return local == 1 ? 0 : 1;
}
