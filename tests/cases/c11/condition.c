// compilers: gcc clang
// check:
// verdict: verified
// executions: 2
// blocked: 0

// cnd_wait and cnd_signal; as cond/handoff.c.
#include <assert.h>
#include <threads.h>

static mtx_t m;
static cnd_t c;
int ready;

static int waiter(void *arg)
{
    mtx_lock(&m);
    while (!ready)
        cnd_wait(&c, &m);
    mtx_unlock(&m);
    return 0;
}

static int signaller(void *arg)
{
    mtx_lock(&m);
    ready = 1;
    cnd_signal(&c);
    mtx_unlock(&m);
    return 0;
}

int main(void)
{
    thrd_t a, b;
    mtx_init(&m, mtx_plain);
    cnd_init(&c);
    thrd_create(&a, waiter, NULL);
    thrd_create(&b, signaller, NULL);
    thrd_join(a, NULL);
    thrd_join(b, NULL);
    assert(ready);
    cnd_destroy(&c);
    mtx_destroy(&m);
    return 0;
}
