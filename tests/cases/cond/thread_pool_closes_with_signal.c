// check:
// verdict: bug
// findings: at-least
// finding: deadlock detail=lost-wakeup line=17

// The pool again, but the shutdown wakes only one of the workers.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
int closed;

static void *worker(void *arg)
{
    pthread_mutex_lock(&m);
    while (!closed)
        pthread_cond_wait(&work, &m);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, worker, NULL);
    pthread_mutex_lock(&m);
    closed = 1;
    pthread_cond_signal(&work);
    pthread_mutex_unlock(&m);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
