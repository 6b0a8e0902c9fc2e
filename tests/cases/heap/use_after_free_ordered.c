// compilers: gcc clang
// check:
// verdict: bug
// finding: memory detail=use-after-free line=18 line2=28

// Both threads hold the lock, so there is no race: but under one order the block is used after it
// was freed.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int *shared;

static void *user(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&m);
    *shared = 1;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t;
    shared = malloc(sizeof *shared);
    pthread_create(&t, NULL, user, NULL);
    pthread_mutex_lock(&m); free(shared); pthread_mutex_unlock(&m);
    pthread_join(t, NULL);
    return 0;
}
