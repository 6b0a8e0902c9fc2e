// check:
// verdict: bug
// finding: data-race var=shared
// finding: misuse severity=warning

// The process may have exited when the thread wakes up. It may also wake up before.
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static int shared;

static void *reads(void *unused)
{
    usleep(1000);
    return shared ? unused : NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, reads, NULL);
    shared = 1;
    return 0;
}
