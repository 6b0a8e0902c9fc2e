// check:
// verdict: verified
// executions: 4
// blocked: 0

// One release fence covers both stores that follow it; each reader has its own flag: 2 x 2.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

int data;
atomic_int flag[2];

static void *send(void *arg)
{
    data = 42;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&flag[0], 1, memory_order_relaxed);
    atomic_store_explicit(&flag[1], 1, memory_order_relaxed);
    return NULL;
}

static void *receive(void *arg)
{
    atomic_int *mine = arg;
    if (atomic_load_explicit(mine, memory_order_acquire))
        assert(data == 42);
    return NULL;
}

int main(void)
{
    pthread_t t[3];
    pthread_create(&t[0], NULL, send, NULL);
    pthread_create(&t[1], NULL, receive, &flag[0]);
    pthread_create(&t[2], NULL, receive, &flag[1]);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}
