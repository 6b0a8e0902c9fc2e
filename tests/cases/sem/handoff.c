// check:
// verdict: verified
// executions: 1
// blocked: 0

// The wait can only come after the post, which publishes the data.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

static sem_t s;
int data;

static void *send(void *arg)
{
    data = 42;
    sem_post(&s);
    return NULL;
}

static void *receive(void *arg)
{
    sem_wait(&s);
    assert(data == 42);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    sem_init(&s, 0, 0);
    pthread_create(&a, NULL, receive, NULL);
    pthread_create(&b, NULL, send, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    sem_destroy(&s);
    return 0;
}
