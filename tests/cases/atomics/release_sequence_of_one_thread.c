// compilers: gcc clang
// check:
// verdict: verified
// executions: 3
// check:
// flags: -DOTHER
// verdict: bug
// findings: at-least
// finding: data-race var=x

// In C a release sequence goes on with relaxed stores of the thread that began it. A store of
// another thread ends it.
#include <pthread.h>
#include <stdatomic.h>

static int x;
static atomic_int y;

static void *writer(void *arg)
{
    x = 1;
    atomic_store_explicit(&y, 1, memory_order_release);
#ifndef OTHER
    atomic_store_explicit(&y, 2, memory_order_relaxed);
#endif
    return NULL;
}

static void *other(void *arg)
{
    if (atomic_load_explicit(&y, memory_order_relaxed) == 1)
        atomic_store_explicit(&y, 2, memory_order_relaxed);
    return NULL;
}

int main(void)
{
    pthread_t t, u;
    pthread_create(&t, NULL, writer, NULL);
#ifdef OTHER
    pthread_create(&u, NULL, other, NULL);
#else
    (void)u;
    (void)other;
#endif
    int seen = 0;
    if (atomic_load_explicit(&y, memory_order_acquire) == 2)
        seen = x;
    pthread_join(t, NULL);
#ifdef OTHER
    pthread_join(u, NULL);
#endif
    return seen > 1;
}
