// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=barrier-destroyed var=b line=13

// A thread arrives at a barrier that was destroyed, in some schedules.
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
    pthread_barrier_init(&b, NULL, 1);
    pthread_create(&t, NULL, work, NULL);
    pthread_barrier_destroy(&b);
    pthread_join(t, NULL);
    return 0;
}
