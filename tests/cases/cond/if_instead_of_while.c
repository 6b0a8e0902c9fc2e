// check:
// verdict: bug
// finding: assertion detail=assert line=19

// A consumer is woken for the item, but a second consumer takes it before the first has the lock
// again.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
int items;

static void *consumer(void *arg)
{
    pthread_mutex_lock(&m);
    if (items == 0)
        pthread_cond_wait(&c, &m);
    assert(items > 0);
    items--;
    pthread_mutex_unlock(&m);
    return NULL;
}

static void *producer(void *arg)
{
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&m);
        items++;
        pthread_cond_signal(&c);
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    pthread_create(&t[0], NULL, consumer, NULL);
    pthread_create(&t[1], NULL, consumer, NULL);
    pthread_create(&t[2], NULL, producer, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
