// compilers: gcc clang
// check:
// verdict: verified
// finding: misuse detail=initialised-twice var=mutex line=26 line2=25 severity=warning
// finding: misuse detail=initialised-twice var=barrier line=28 line2=27 severity=warning
// findings: 2

// Initialised again although it was not destroyed. A block that was freed holds nothing any more,
// and what was destroyed may be initialised again.
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t mutex, again;
static pthread_barrier_t barrier;

static void *idle(void *arg)
{
    return arg;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, idle, NULL);
    pthread_mutex_init(&mutex, NULL);
    pthread_mutex_init(&mutex, NULL);
    pthread_barrier_init(&barrier, NULL, 1);
    pthread_barrier_init(&barrier, NULL, 1);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_init(&again, NULL);
        pthread_mutex_destroy(&again);
        pthread_cond_t *block = malloc(sizeof *block);
        pthread_cond_init(block, NULL);
        free(block);
    }
    pthread_mutex_destroy(&mutex);
    pthread_barrier_destroy(&barrier);
    pthread_join(t, NULL);
    return 0;
}
