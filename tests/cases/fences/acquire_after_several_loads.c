// check:
// verdict: verified
// executions: 3
// blocked: 0

// One acquire fence at the end covers every relaxed load before it. As counts/message_passing.c: 3.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

int first_data, second_data;
atomic_int first, second;

static void *send(void *arg)
{
    first_data = 1;
    atomic_store_explicit(&first, 1, memory_order_release);
    second_data = 2;
    atomic_store_explicit(&second, 1, memory_order_release);
    return NULL;
}

static void *receive(void *arg)
{
    int b = atomic_load_explicit(&second, memory_order_relaxed);
    int a = atomic_load_explicit(&first, memory_order_relaxed);
    atomic_thread_fence(memory_order_acquire);
    if (a)
        assert(first_data == 1);
    if (b)
        assert(second_data == 2);
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
