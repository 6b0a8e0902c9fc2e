// check:
// verdict: verified
// executions: 1
// blocked: 0

// Not the creator but another thread joins.
#include <assert.h>
#include <pthread.h>

static pthread_t first;
int value;

static void *work(void *arg)
{
    value = 1;
    return NULL;
}

static void *joiner(void *arg)
{
    pthread_join(first, NULL);
    assert(value == 1);
    value = 2;
    return NULL;
}

int main(void)
{
    pthread_t second;
    pthread_create(&first, NULL, work, NULL);
    pthread_create(&second, NULL, joiner, NULL);
    pthread_join(second, NULL);
    assert(value == 2);
    return 0;
}
