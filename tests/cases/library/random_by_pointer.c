// compilers: gcc clang
// flags: -O2
// check:
// verdict: verified
// executions: 2
//
// The function is called by an address that stands in a constant of the program.
#include <pthread.h>
#include <stdlib.h>

static long (*const functions[])(void) = {random};

static void *draw(void *at)
{
    functions[*(int *)at]();
    return NULL;
}

int main(void)
{
    pthread_t thread;
    int at = 0;
    pthread_create(&thread, NULL, draw, &at);
    random();
    pthread_join(thread, NULL);
    return 0;
}
