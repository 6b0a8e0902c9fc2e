// check:
// verdict: bug
// finding: misuse detail=join-detached line=18

// Detached twice: goes under the same word.
#include <pthread.h>

static void *work(void *arg)
{
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    pthread_detach(t);
    pthread_detach(t);
    pthread_exit(NULL);
}
