// check:
// flags: -DN=4
// verdict: verified
// executions: 24
// blocked: 0
// check: --strategy dpor
// flags: -DN=4
// verdict: verified
// executions: 24
// check: --granularity access
// flags: -DN=4
// verdict: verified
// executions: 24
// check:
// flags: -DN=8
// verdict: verified
// executions: 40320
// blocked: 0

// N threads with one critical section each: N! orders.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int count;

static void *add(void *arg)
{
    pthread_mutex_lock(&m);
    count++;
    pthread_mutex_unlock(&m);
    return NULL;
}

int main(void)
{
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, add, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    assert(count == N);
    return 0;
}
