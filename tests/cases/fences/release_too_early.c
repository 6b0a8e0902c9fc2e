// check:
// verdict: bug
// finding: data-race var=data detail=read-write line=15 line2=23

// The fence comes before the data it should publish.
#include <pthread.h>
#include <stdatomic.h>

int data, copy;
atomic_int flag;

static void *send(void *arg)
{
    atomic_thread_fence(memory_order_release);
    data = 42;
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return NULL;
}

static void *receive(void *arg)
{
    if (atomic_load_explicit(&flag, memory_order_acquire))
        copy = data;
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
