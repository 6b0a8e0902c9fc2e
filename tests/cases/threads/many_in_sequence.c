// check:
// verdict: verified
// executions: 1

// A hundred threads, never more than one at a time: stacks and identities are used again.
#include <assert.h>
#include <pthread.h>

int count;

static void *work(void *arg)
{
    count++;
    return NULL;
}

int main(void)
{
    for (int i = 0; i < 100; i++) {
        pthread_t t;
        pthread_create(&t, NULL, work, NULL);
        pthread_join(t, NULL);
    }
    assert(count == 100);
    return 0;
}
