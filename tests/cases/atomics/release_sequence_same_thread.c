// check:
// verdict: bug
// finding: data-race var=data detail=read-write line=15 line2=24

// Since C++20 a later relaxed store by the releasing thread itself does not continue the release
// sequence either.
#include <pthread.h>
#include <stdatomic.h>

int data, copy;
atomic_int flag;

static void *send(void *arg)
{
    data = 42;
    atomic_store_explicit(&flag, 1, memory_order_release);
    atomic_store_explicit(&flag, 2, memory_order_relaxed);
    return NULL;
}

static void *receive(void *arg)
{
    if (atomic_load_explicit(&flag, memory_order_acquire) == 2)
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
