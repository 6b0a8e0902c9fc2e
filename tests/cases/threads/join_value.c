// compilers: gcc clang
// check:
// verdict: verified
// executions: 1
// blocked: 0

// Values come back through join, by return and by pthread_exit, and what the thread wrote is
// visible.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

int written;

static void *returns(void *arg)
{
    written = 1;
    return (void *)((intptr_t)arg + 1);
}

static void leave(intptr_t value)
{
    pthread_exit((void *)value);
}

static void *exits(void *arg)
{
    leave((intptr_t)arg + 2);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    void *va, *vb;
    pthread_create(&a, NULL, returns, (void *)10);
    pthread_create(&b, NULL, exits, (void *)20);
    pthread_join(a, &va);
    pthread_join(b, &vb);
    assert((intptr_t)va == 11 && (intptr_t)vb == 22 && written == 1);
    return 0;
}
