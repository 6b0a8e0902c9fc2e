// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=destroy-waited var=c line=30

// Main destroys the condition variable while a thread waits on it.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c;
int stop;

static void *waiter(void *arg)
{
    pthread_mutex_lock(&m);
    while (!stop)
        pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_cond_init(&c, NULL);
    pthread_create(&t, NULL, waiter, NULL);
    pthread_mutex_lock(&m);
    stop = 1;
    pthread_mutex_unlock(&m);
    pthread_cond_destroy(&c);
    pthread_join(t, NULL);
    return 0;
}
