// check:
// verdict: verified
// executions: 2
// blocked: 0

// The try comes before the post (and fails) or after it.
#include <assert.h>
#include <errno.h>
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
    if (sem_trywait(&s) == 0)
        assert(data == 42);
    else
        assert(errno == EAGAIN);
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
