// check:
// verdict: verified
// executions: 3
// blocked: 0

// Any of the three threads may run it; the two that find it done only read.
#include <assert.h>
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
int runs;

static void init(void)
{
    runs++;
}

static void *work(void *arg)
{
    pthread_once(&once, init);
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    assert(runs == 1);
    return 0;
}
