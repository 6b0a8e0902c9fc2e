// check:
// verdict: verified
// executions: 1
// finding: misuse detail=never-joined severity=warning line=24
// check: --werror
// verdict: bug
// exit: 1
// finding: misuse detail=never-joined severity=warning line=24

// Neither joined nor detached; main leaves by pthread_exit, so the thread may finish.
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
    pthread_exit(NULL);
}
