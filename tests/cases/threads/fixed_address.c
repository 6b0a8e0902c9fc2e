// compilers: gcc clang
// flags: -no-pie -fno-pie
// check:
// verdict: verified
// executions: 1

// A program that is linked for a fixed address. The functions with which it starts have other
// lengths than those of other programs.
#include <pthread.h>
#include <stddef.h>

static void *nothing(void *arg)
{
    return arg;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, nothing, NULL);
    pthread_join(t, NULL);
    return 0;
}
