// check:
// verdict: verified

// A read-modify-write continues the release sequence, even relaxed and by another thread.
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

static void *bump(void *arg)
{
    int one = 1;
    atomic_compare_exchange_strong_explicit(&flag, &one, 2, memory_order_relaxed, memory_order_relaxed);
    return NULL;
}

static void *receive(void *arg)
{
    if (atomic_load_explicit(&flag, memory_order_acquire) == 2)
        assert(data == 42);
    return NULL;
}

int main(void)
{
    pthread_t a, b, c;
    pthread_create(&a, NULL, send, NULL);
    pthread_create(&b, NULL, bump, NULL);
    pthread_create(&c, NULL, receive, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(c, NULL);
    return 0;
}
