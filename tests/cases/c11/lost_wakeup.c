// check:
// verdict: bug
// executions: 2
// finding: deadlock detail=lost-wakeup line=15

// The signal may come before the wait.
#include <threads.h>

static mtx_t m;
static cnd_t c;

static int waiter(void *arg)
{
    mtx_lock(&m);
    cnd_wait(&c, &m);
    mtx_unlock(&m);
    return 0;
}

int main(void)
{
    thrd_t t;
    mtx_init(&m, mtx_plain);
    cnd_init(&c);
    thrd_create(&t, waiter, NULL);
    mtx_lock(&m);
    cnd_signal(&c);
    mtx_unlock(&m);
    thrd_join(t, NULL);
    cnd_destroy(&c);
    mtx_destroy(&m);
    return 0;
}
