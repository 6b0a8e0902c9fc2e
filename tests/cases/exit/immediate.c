// check:
// verdict: verified

// _exit ends the process without handlers: the one registered here is never called.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void never(void)
{
    abort();
}

static void *work(void *arg)
{
    _exit(0);
}

int main(void)
{
    pthread_t t;
    atexit(never);
    pthread_create(&t, NULL, work, NULL);
    pthread_join(t, NULL);
    return 1;
}
