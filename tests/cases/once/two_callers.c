// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
// blocked: 0

// One of the two runs the initialiser, the other sees it done.
#include <assert.h>
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
int runs, value;

static void init(void)
{
    runs++;
    value = 42;
}

static void *work(void *arg)
{
    pthread_once(&once, init);
    assert(value == 42);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(runs == 1);
    return 0;
}
