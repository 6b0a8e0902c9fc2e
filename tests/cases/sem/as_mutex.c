// compilers: gcc clang
// check:
// flags: -DN=2
// verdict: verified
// executions: 2
// blocked: 0
// check:
// flags: -DN=3
// verdict: verified
// executions: 6
// blocked: 0

// A semaphore of value 1 around a counter: N! orders.
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>

static sem_t s;
int count;

static void *add(void *arg)
{
    sem_wait(&s);
    count++;
    sem_post(&s);
    return NULL;
}

int main(void)
{
    pthread_t t[N];
    sem_init(&s, 0, 1);
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, add, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    assert(count == N);
    sem_destroy(&s);
    return 0;
}
