// check:
// verdict: bug
// finding: data-race var=data detail=read-write line=15 line2=22

// The post comes one line too early.
#include <pthread.h>
#include <semaphore.h>

static sem_t s;
int data, copy;

static void *send(void *arg)
{
    sem_post(&s);
    data = 42;
    return NULL;
}

static void *receive(void *arg)
{
    sem_wait(&s);
    copy = data;
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    sem_init(&s, 0, 0);
    pthread_create(&a, NULL, send, NULL);
    pthread_create(&b, NULL, receive, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    sem_destroy(&s);
    return 0;
}
