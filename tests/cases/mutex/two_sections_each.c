// check:
// verdict: verified
// executions: 6
// blocked: 0

// T1 and T2 enter twice each. Orders of a1 a2 with b1 b2 that keep each thread's own order: 4! /
// (2! 2!) = 6.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int count;

static void *add_twice(void *arg)
{
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&m);
        count++;
        pthread_mutex_unlock(&m);
    }
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, add_twice, NULL);
    pthread_create(&b, NULL, add_twice, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(count == 4);
    return 0;
}
