// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=mutex-uninitialised line=13

// A mutex in fresh heap memory, never initialised.
#include <pthread.h>
#include <stdlib.h>

int main(void)
{
    pthread_mutex_t *m = malloc(sizeof *m);
    pthread_mutex_lock(m);
    pthread_mutex_unlock(m);
    free(m);
    return 0;
}
