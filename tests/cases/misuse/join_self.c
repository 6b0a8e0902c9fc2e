// check:
// verdict: bug
// finding: misuse detail=join-self line=10

// A thread that waits for its own end.
#include <pthread.h>

static void *work(void *arg)
{
    pthread_join(pthread_self(), NULL);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    pthread_join(t, NULL);
    return 0;
}
