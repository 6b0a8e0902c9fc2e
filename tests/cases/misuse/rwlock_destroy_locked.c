// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=rwlock-destroy-locked var=l line=15

// Destroyed while its owner still reads.
#include <pthread.h>

static pthread_rwlock_t l;

int main(void)
{
    pthread_rwlock_init(&l, NULL);
    pthread_rwlock_rdlock(&l);
    pthread_rwlock_destroy(&l);
    return 0;
}
