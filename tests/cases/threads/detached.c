// compilers: gcc clang
// check:
// verdict: verified

// A detached thread that main waits for by a condition variable; then both end: main leaves by
// pthread_exit, so that the process lasts until the thread is through.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int finished;

static void *work(void *arg)
{
    pthread_mutex_lock(&m);
    finished = 1;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    pthread_detach(t);
    pthread_mutex_lock(&m);
    while (!finished)
        pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    pthread_exit(NULL);
}
