// check:
// verdict: verified
// executions: 1

// A destructor that sets its key again is called again.
#include <assert.h>
#include <pthread.h>

static pthread_key_t key;
int calls;
int token;

static void destroy(void *value)
{
    if (++calls < 3)
        pthread_setspecific(key, value);
}

static void *work(void *arg)
{
    pthread_setspecific(key, &token);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_key_create(&key, destroy);
    pthread_create(&t, NULL, work, NULL);
    pthread_join(t, NULL);
    assert(calls == 3);
    pthread_key_delete(key);
    return 0;
}
