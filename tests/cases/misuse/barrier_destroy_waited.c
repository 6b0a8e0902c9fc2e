// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=barrier-destroy-waited var=b line=22

// Destroyed while a thread waits at it.
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
    pthread_barrier_init(&b, NULL, 2);
    pthread_create(&t, NULL, work, NULL);
    pthread_barrier_destroy(&b);
    pthread_detach(t);
    pthread_exit(NULL);
}
