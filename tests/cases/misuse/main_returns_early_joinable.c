// check:
// verdict: verified
// finding: misuse detail=main-returns-early severity=warning
// finding: misuse detail=never-joined severity=warning

// The same with a joinable thread: two warnings.
#include <pthread.h>

int done;

static void *work(void *arg)
{
    done = 1;
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    return 0;
}
