// check:
// verdict: bug
// finding: data-race var=data detail=read-write line=14 line2=24

// A signal fence is for a handler in the same thread, not for other threads.
#include <pthread.h>
#include <stdatomic.h>

int data, copy;
atomic_int flag;

static void *send(void *arg)
{
    data = 42;
    atomic_signal_fence(memory_order_release);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return NULL;
}

static void *receive(void *arg)
{
    if (atomic_load_explicit(&flag, memory_order_relaxed)) {
        atomic_signal_fence(memory_order_acquire);
        copy = data;
    }
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
