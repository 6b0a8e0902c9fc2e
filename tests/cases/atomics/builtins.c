// compilers: gcc clang
// check:
// verdict: verified
// executions: 6
// blocked: 0

// The compiler's own builtins on a plain int, old style and new: T1 has two read-modify-writes, T2
// a fetch_add and a load; orders of a1 a2 with b1 b2: 6.
#include <assert.h>
#include <pthread.h>

int x;

static void *left(void *arg)
{
    __sync_fetch_and_add(&x, 1);
    __sync_fetch_and_add(&x, 1);
    return NULL;
}

static void *right(void *arg)
{
    __atomic_fetch_add(&x, 1, __ATOMIC_SEQ_CST);
    int v = __atomic_load_n(&x, __ATOMIC_SEQ_CST);
    assert(v >= 1 && v <= 3);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, left, NULL);
    pthread_create(&b, NULL, right, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(x == 3);
    return 0;
}
