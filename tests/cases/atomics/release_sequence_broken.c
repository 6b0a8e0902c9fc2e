// check:
// verdict: bug
// finding: data-race var=data detail=read-write line=14 line2=29

// A plain (not read-modify-write) relaxed store by another thread ends the release sequence.
#include <pthread.h>
#include <stdatomic.h>

int data, copy;
atomic_int flag;

static void *send(void *arg)
{
    data = 42;
    atomic_store_explicit(&flag, 1, memory_order_release);
    return NULL;
}

static void *overwrite(void *arg)
{
    if (atomic_load_explicit(&flag, memory_order_relaxed) == 1)
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
    pthread_t a, b, c;
    pthread_create(&a, NULL, send, NULL);
    pthread_create(&b, NULL, overwrite, NULL);
    pthread_create(&c, NULL, receive, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(c, NULL);
    return 0;
}
