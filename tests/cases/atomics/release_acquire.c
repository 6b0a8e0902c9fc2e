// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
// blocked: 0

// Data published by a release store; the reader looks only if it saw the flag. Two executions: flag
// seen or not.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

int data;
atomic_int flag;

static void *send(void *arg)
{
    data = 42;
    atomic_store_explicit(&flag, 1, memory_order_release);
    return NULL;
}

static void *receive(void *arg)
{
    if (atomic_load_explicit(&flag, memory_order_acquire))
        assert(data == 42);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, send, NULL);
    pthread_create(&b, NULL, receive, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
