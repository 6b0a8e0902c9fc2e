// check:
// verdict: verified
// executions: 3
// blocked: 0

// mtx_timedlock gets the lock before or after the other thread's section, or gives up while it
// lasts.
#include <assert.h>
#include <threads.h>
#include <time.h>

static mtx_t m;
int count;

static int patient(void *arg)
{
    struct timespec until;
    timespec_get(&until, TIME_UTC);
    until.tv_sec += 1;
    int status = mtx_timedlock(&m, &until);
    if (status == thrd_success) {
        count++;
        mtx_unlock(&m);
    } else {
        assert(status == thrd_timedout);
    }
    return 0;
}

static int holder(void *arg)
{
    mtx_lock(&m);
    count++;
    mtx_unlock(&m);
    return 0;
}

int main(void)
{
    thrd_t a, b;
    mtx_init(&m, mtx_timed);
    thrd_create(&a, patient, NULL);
    thrd_create(&b, holder, NULL);
    thrd_join(a, NULL);
    thrd_join(b, NULL);
    assert(count == 1 || count == 2);
    mtx_destroy(&m);
    return 0;
}
