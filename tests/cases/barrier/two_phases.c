// compilers: gcc clang
// check:
// verdict: verified
// executions: 1
// blocked: 0

// Each writes its cell before the barrier and reads the other's after it. The order of arrival
// changes nothing.
#include <assert.h>
#include <pthread.h>

static pthread_barrier_t b;
int cell[2];

static void *work(void *arg)
{
    int i = *(int *)arg;
    cell[i] = i + 1;
    pthread_barrier_wait(&b);
    assert(cell[1 - i] == 2 - i);
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    int id[2] = { 0, 1 };
    pthread_barrier_init(&b, NULL, 2);
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, &id[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    pthread_barrier_destroy(&b);
    return 0;
}
