// check:
// verdict: verified
// executions: 2

// A named semaphore, opened by each thread by itself.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>

#define NAME "/raddle-case-named"

int count;

static void *add(void *arg)
{
    sem_t *s = sem_open(NAME, 0);
    sem_wait(s);
    count++;
    sem_post(s);
    sem_close(s);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    sem_unlink(NAME);
    sem_t *s = sem_open(NAME, O_CREAT, 0600, 1);
    assert(s != SEM_FAILED);
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(count == 2);
    sem_close(s);
    sem_unlink(NAME);
    return 0;
}
