// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
// blocked: 0

// Release fence before a relaxed store, acquire fence after a relaxed load: ordered, although no
// access itself is.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

int data;
atomic_int flag;

static void *send(void *arg)
{
    data = 42;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
    return NULL;
}

static void *receive(void *arg)
{
    if (atomic_load_explicit(&flag, memory_order_relaxed)) {
        atomic_thread_fence(memory_order_acquire);
        assert(data == 42);
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
