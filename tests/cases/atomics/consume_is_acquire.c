// check:
// verdict: verified
// executions: 2

// memory_order_consume is treated as acquire.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

int data;
int *_Atomic pointer;

static void *send(void *arg)
{
    data = 42;
    atomic_store_explicit(&pointer, &data, memory_order_release);
    return NULL;
}

static void *receive(void *arg)
{
    int *p = atomic_load_explicit(&pointer, memory_order_consume);
    if (p)
        assert(*p == 42);
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
