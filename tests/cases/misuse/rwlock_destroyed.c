// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=rwlock-destroyed var=l line=15

// Used after it was destroyed.
#include <pthread.h>

static pthread_rwlock_t l;

int main(void)
{
    pthread_rwlock_init(&l, NULL);
    pthread_rwlock_destroy(&l);
    pthread_rwlock_wrlock(&l);
    pthread_rwlock_unlock(&l);
    return 0;
}
