// check:
// verdict: verified
// finding: misuse detail=rwlock-not-destroyed var=l severity=warning

// Initialised by a call and never destroyed.
#include <pthread.h>

static pthread_rwlock_t l;

int main(void)
{
    pthread_rwlock_init(&l, NULL);
    pthread_rwlock_rdlock(&l);
    pthread_rwlock_unlock(&l);
    return 0;
}
