// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=rwlock-uninitialised line=13

// A read-write lock in fresh heap memory.
#include <pthread.h>
#include <stdlib.h>

int main(void)
{
    pthread_rwlock_t *l = malloc(sizeof *l);
    pthread_rwlock_rdlock(l);
    pthread_rwlock_unlock(l);
    free(l);
    return 0;
}
