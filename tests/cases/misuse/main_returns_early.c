// check:
// verdict: verified
// finding: misuse detail=main-returns-early severity=warning

// Main returns while a detached thread may still run.
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
    pthread_detach(t);
    return 0;
}
