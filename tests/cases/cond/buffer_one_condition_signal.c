// compilers: gcc clang
// check:
// verdict: bug
// executions: 80
// findings: at-least
// finding: deadlock detail=lost-wakeup

// Producers and consumers share one condition variable and use signal: the wake-up can go to a
// thread of the same sort, which goes back to sleep while the one it was meant for never wakes. 8
// of the 80 executions end that way.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
int filled;

static void *producer(void *arg)
{
    pthread_mutex_lock(&m);
    while (filled == 1)
        pthread_cond_wait(&changed, &m);
    filled++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *consumer(void *arg)
{
    pthread_mutex_lock(&m);
    while (filled == 0)
        pthread_cond_wait(&changed, &m);
    filled--;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t[4];
    pthread_create(&t[0], NULL, producer, NULL);
    pthread_create(&t[1], NULL, producer, NULL);
    pthread_create(&t[2], NULL, consumer, NULL);
    pthread_create(&t[3], NULL, consumer, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    return 0;
}
