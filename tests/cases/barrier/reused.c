// check:
// verdict: verified
// executions: 1
// blocked: 0

// Three threads, four rounds on one barrier.
#include <assert.h>
#include <pthread.h>

static pthread_barrier_t b;
int cell[3];

static void *work(void *arg)
{
    int i = *(int *)arg;
    for (int round = 1; round <= 4; round++) {
        cell[i] = round;
        pthread_barrier_wait(&b);
        assert(cell[(i + 1) % 3] == round);
        pthread_barrier_wait(&b);
    }
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    int id[3] = { 0, 1, 2 };
    pthread_barrier_init(&b, NULL, 3);
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, work, &id[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    pthread_barrier_destroy(&b);
    return 0;
}
