// check:
// verdict: verified
// executions: 1

// Memory that holds the bytes of a static initialiser is initialised, however they came there.
#include <pthread.h>
#include <stdlib.h>

int main(void)
{
    pthread_mutex_t *m = malloc(sizeof *m), *zeroed = calloc(1, sizeof *zeroed);
    *m = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(m);
    pthread_mutex_unlock(m);
    pthread_mutex_lock(zeroed);
    pthread_mutex_unlock(zeroed);
    free(m);
    free(zeroed);
    return 0;
}
