// compilers: gcc clang
// check:
// verdict: verified
// executions: 1

// Everything is ordered by create and join.
#include <assert.h>
#include <pthread.h>

int x;

static void *work(void *arg)
{
    assert(x == 1);
    x = 2;
    return NULL;
}

int main(void)
{
    pthread_t t;
    x = 1;
    pthread_create(&t, NULL, work, NULL);
    pthread_join(t, NULL);
    assert(x == 2);
    x = 3;
    return 0;
}
