// check:
// verdict: incomplete

// A thread is cancelled while it waits in pthread_join. The other thread can still be joined.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>

static sem_t go_on;
static pthread_t joined;

static void *waits(void *arg)
{
    sem_wait(&go_on);
    return arg;
}

static void *joins(void *arg)
{
    pthread_join(joined, NULL);
    return arg;
}

int main(void)
{
    pthread_t joiner;
    void *result;
    sem_init(&go_on, 0, 0);
    pthread_create(&joined, NULL, waits, NULL);
    pthread_create(&joiner, NULL, joins, NULL);
    pthread_cancel(joiner);
    pthread_join(joiner, &result);
    assert(result == PTHREAD_CANCELED);
    sem_post(&go_on);
    pthread_join(joined, NULL);
    sem_destroy(&go_on);
    return 0;
}
