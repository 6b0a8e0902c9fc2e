// check:
// verdict: bug
// finding: crash detail=SIGSEGV

// Endless recursion in a thread.
#include <pthread.h>

int sink;

static int deeper(volatile int *n)
{
    volatile int next[64] = { *n + 1 };
    return next[0] < 0 ? 0 : deeper(next) + next[1];
}

static void *work(void *arg)
{
    volatile int start = 0;
    sink = deeper(&start);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    pthread_join(t, NULL);
    return 0;
}
