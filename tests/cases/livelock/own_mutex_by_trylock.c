// check:
// verdict: bug
// finding: livelock detail=spin

// Trying one's own mutex until it is free.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

int main(void)
{
    pthread_mutex_lock(&m);
    while (pthread_mutex_trylock(&m) != 0)
        ;
    pthread_mutex_unlock(&m);
    return 0;
}
