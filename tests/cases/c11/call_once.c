// check:
// verdict: verified
// executions: 2
// blocked: 0

// call_once, two callers.
#include <assert.h>
#include <threads.h>

static once_flag flag = ONCE_FLAG_INIT;
int runs;

static void init(void)
{
    runs++;
}

static int work(void *arg)
{
    call_once(&flag, init);
    return runs == 1 ? 0 : 1;
}

int main(void)
{
    thrd_t a, b;
    int ra, rb;
    thrd_create(&a, work, NULL);
    thrd_create(&b, work, NULL);
    thrd_join(a, &ra);
    thrd_join(b, &rb);
    assert(runs == 1 && ra == 0 && rb == 0);
    return 0;
}
