// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=barrier-uninitialised var=b line=13

// A barrier that was not initialised.
#include <pthread.h>

static pthread_barrier_t b;

static void *work(void *arg)
{
    pthread_barrier_wait(&b);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    pthread_detach(t);
    pthread_exit(NULL);
}
