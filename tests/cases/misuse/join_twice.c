// compilers: gcc clang
// check:
// verdict: bug
// finding: misuse detail=join-twice line=19

// Joined twice.
#include <pthread.h>

static void *work(void *arg)
{
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    pthread_join(t, NULL);
    pthread_join(t, NULL);
    return 0;
}
