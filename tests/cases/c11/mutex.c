// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
// blocked: 0

// C11 threads with a plain mutex.
#include <assert.h>
#include <threads.h>

static mtx_t m;
int count;

static int add(void *arg)
{
    mtx_lock(&m);
    count++;
    mtx_unlock(&m);
    return 7;
}

int main(void)
{
    thrd_t a, b;
    int ra, rb;
    assert(mtx_init(&m, mtx_plain) == thrd_success);
    thrd_create(&a, add, NULL);
    thrd_create(&b, add, NULL);
    thrd_join(a, &ra);
    thrd_join(b, &rb);
    assert(count == 2 && ra == 7 && rb == 7);
    mtx_destroy(&m);
    return 0;
}
