// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=mutex-destroyed var=m line=14

// Main destroys the mutex without waiting for its last user.
#include <pthread.h>

static pthread_mutex_t m;

static void *work(void *arg)
{
    pthread_mutex_lock(&m);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_mutex_init(&m, NULL);
    pthread_create(&t, NULL, work, NULL);
    pthread_mutex_destroy(&m);
    pthread_join(t, NULL);
    return 0;
}
