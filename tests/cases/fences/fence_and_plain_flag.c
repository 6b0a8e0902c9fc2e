// check:
// verdict: bug
// findings: at-least
// finding: data-race var=flag detail=read-write line=16 line2=22

// Fences order nothing for a flag that is not atomic.
#include <pthread.h>
#include <stdatomic.h>

int data, flag, copy;

static void *send(void *arg)
{
    data = 42;
    atomic_thread_fence(memory_order_release);
    flag = 1;
    return NULL;
}

static void *receive(void *arg)
{
    if (flag) {
        atomic_thread_fence(memory_order_acquire);
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
