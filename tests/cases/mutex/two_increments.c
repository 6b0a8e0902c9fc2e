// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
// blocked: 0
// check: --strategy dpor
// verdict: verified
// executions: 2
// check: --granularity access
// verdict: verified
// executions: 2

// Two critical sections on one mutex: T1 before T2, or T2 before T1.
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
    pthread_t a, b;
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(count == 2);
    return 0;
}
