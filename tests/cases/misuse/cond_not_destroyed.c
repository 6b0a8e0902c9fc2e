// check:
// verdict: verified
// finding: misuse detail=cond-not-destroyed var=c severity=warning

// Initialised by a call and never destroyed.
#include <pthread.h>

static pthread_cond_t c;

int main(void)
{
    pthread_cond_init(&c, NULL);
    pthread_cond_signal(&c);
    return 0;
}
