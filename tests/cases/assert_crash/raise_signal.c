// check:
// verdict: bug
// finding: crash detail=SIGTERM

// A fatal signal that the program sends itself.
#include <pthread.h>
#include <signal.h>

static void *work(void *arg)
{
    raise(SIGTERM);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    pthread_join(t, NULL);
    return 0;
}
