// check:
// verdict: verified

// cnd_broadcast wakes all; cnd_timedwait may come back without.
#include <assert.h>
#include <threads.h>
#include <time.h>

static mtx_t m;
static cnd_t c;
int ready, seen;

static int patient(void *arg)
{
    mtx_lock(&m);
    while (!ready)
        cnd_wait(&c, &m);
    seen++;
    mtx_unlock(&m);
    return 0;
}

static int hurried(void *arg)
{
    struct timespec until;
    timespec_get(&until, TIME_UTC);
    until.tv_sec++;
    mtx_lock(&m);
    int code = ready ? thrd_success : cnd_timedwait(&c, &m, &until);
    assert(code == thrd_success || code == thrd_timedout);
    if (ready)
        seen++;
    mtx_unlock(&m);
    return 0;
}

int main(void)
{
    thrd_t a, b;
    mtx_init(&m, mtx_plain);
    cnd_init(&c);
    thrd_create(&a, patient, NULL);
    thrd_create(&b, hurried, NULL);
    assert(!thrd_equal(a, b) && !thrd_equal(a, thrd_current()));
    mtx_lock(&m);
    ready = 1;
    cnd_broadcast(&c);
    mtx_unlock(&m);
    thrd_yield();
    thrd_join(a, NULL);
    thrd_join(b, NULL);
    assert(seen == 1 || seen == 2);
    cnd_destroy(&c);
    mtx_destroy(&m);
    return 0;
}
