// check:
// verdict: bug
// findings: at-least
// finding: memory detail=double-free line=17

// Two threads take turns under a lock, and both free: the second frees what is no longer a live
// block.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int *shared;

static void *drop(void *arg)
{
    pthread_mutex_lock(&m);
    free(shared);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    shared = malloc(sizeof *shared);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, drop, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
