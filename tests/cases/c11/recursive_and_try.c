// check:
// verdict: verified
// executions: 4
// blocked: 0

// mtx_trylock on a recursive mutex: as mutex/trylock_both.c, with an inner lock that no other
// thread can observe.
#include <assert.h>
#include <threads.h>

static mtx_t m;
int count;

static int attempt(void *arg)
{
    int status = mtx_trylock(&m);
    if (status == thrd_success) {
        mtx_lock(&m);
        count++;
        mtx_unlock(&m);
        mtx_unlock(&m);
    } else {
        assert(status == thrd_busy);
    }
    return 0;
}

int main(void)
{
    thrd_t a, b;
    mtx_init(&m, mtx_plain | mtx_recursive);
    thrd_create(&a, attempt, NULL);
    thrd_create(&b, attempt, NULL);
    thrd_join(a, NULL);
    thrd_join(b, NULL);
    assert(count == 1 || count == 2);
    mtx_destroy(&m);
    return 0;
}
