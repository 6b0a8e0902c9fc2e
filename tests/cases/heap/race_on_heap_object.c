// compilers: gcc clang
// check:
// verdict: bug
// finding: data-race detail=write-write line=19 line2=25

// A field of a heap object, written by two threads.
#include <pthread.h>
#include <stdlib.h>

struct job {
    int id;
    int state;
};

struct job *job;

static void *start(void *arg)
{
    job->state = 1;
    return NULL;
}

static void *cancel(void *arg)
{
    job->state = 2;
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    job = calloc(1, sizeof *job);
    pthread_create(&a, NULL, start, NULL);
    pthread_create(&b, NULL, cancel, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    free(job);
    return 0;
}
