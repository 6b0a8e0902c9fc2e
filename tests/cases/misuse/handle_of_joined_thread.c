// compilers: gcc clang
// check:
// verdict: bug
// finding: misuse detail=bad-thread line=20
// finding: misuse detail=bad-thread line=21

// The handle of a thread that was joined names no thread any more.
#include <pthread.h>
#include <signal.h>
static void *idle(void *arg)
{
    return arg;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, idle, NULL);
    pthread_join(t, NULL);
    pthread_cancel(t);
    pthread_kill(t, 0);
    return 0;
}
