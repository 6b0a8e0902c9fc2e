// compilers: gcc clang
// check:
// verdict: verified

// exit() in a thread ends the program while main waits in join.
#include <pthread.h>
#include <stdlib.h>

static void *work(void *arg)
{
    exit(0);
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    pthread_join(t, NULL);
    return 1;
}
