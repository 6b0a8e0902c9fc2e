// check:
// verdict: bug
// finding: data-race var=data detail=read-write line=14 line2=22

// An acquire load of a relaxed store synchronises with nothing.
#include <pthread.h>
#include <stdatomic.h>

int data, copy;
atomic_int flag;

static void *send(void *arg)
{
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
