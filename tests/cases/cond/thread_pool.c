// check:
// verdict: verified

// Two workers, a queue of two jobs, a shutdown flag with broadcast.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
int queued, closed, done;

static void *worker(void *arg)
{
    pthread_mutex_lock(&m);
    for (;;) {
        while (!queued && !closed)
            pthread_cond_wait(&work, &m);
        if (!queued)
            break;
        queued--;
        done++;
    }
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, worker, NULL);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&m);
        queued++;
        pthread_cond_signal(&work);
        pthread_mutex_unlock(&m);
    }
    pthread_mutex_lock(&m);
    closed = 1;
    pthread_cond_broadcast(&work);
    pthread_mutex_unlock(&m);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    assert(done == 2);
    return 0;
}
