// check:
// verdict: verified
// executions: 6
// blocked: 0
// check: --strategy dpor
// verdict: verified
// executions: 6

// Three critical sections on one mutex can come in 3! orders.
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
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, add, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    assert(count == 3);
    return 0;
}
