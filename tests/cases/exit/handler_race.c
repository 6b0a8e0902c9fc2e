// check:
// verdict: bug
// findings: at-least
// finding: data-race var=log_length detail=read-write line=14 line2=19

// The handler reads what a thread that still runs writes.
#include <pthread.h>
#include <stdlib.h>

int log_length, flushed;

static void flush(void)
{
    flushed = log_length;
}

static void *work(void *arg)
{
    log_length = 1;
    return NULL;
}

int main(void)
{
    pthread_t t;
    atexit(flush);
    pthread_create(&t, NULL, work, NULL);
    pthread_detach(t);
    exit(0);
}
