// check:
// verdict: verified
// finding: misuse detail=barrier-not-destroyed var=b severity=warning

// Initialised and never destroyed.
#include <pthread.h>

static pthread_barrier_t b;

int main(void)
{
    pthread_barrier_init(&b, NULL, 1);
    pthread_barrier_wait(&b);
    return 0;
}
