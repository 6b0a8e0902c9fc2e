// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=cond-uninitialised
// finding: misuse detail=mutex-not-destroyed severity=warning
// finding: misuse detail=main-returns-early severity=warning

// The three sorts of misuse that Inspect found in pfscan, in one small program: a condition
// variable used without being initialised, a mutex that is initialised and never destroyed, and
// main returning while a worker runs.
#include <pthread.h>
#include <stdlib.h>

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t more;
    int length;
};

struct queue *queue;

static void *worker(void *arg)
{
    pthread_mutex_lock(&queue->lock);
    queue->length--;
    pthread_mutex_unlock(&queue->lock);
    return NULL;
}

int main(void)
{
    pthread_t t;
    queue = malloc(sizeof *queue);
    pthread_mutex_init(&queue->lock, NULL);
    queue->length = 1;
    pthread_create(&t, NULL, worker, NULL);
    pthread_detach(t);
    pthread_cond_signal(&queue->more);
    return 0;
}
