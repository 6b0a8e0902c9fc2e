// check:
// verdict: bug
// findings: at-least
// finding: misuse detail=unlock-not-owner var=m line=13

// Main holds the mutex, the thread unlocks it.
#include <threads.h>

static mtx_t m;

static int work(void *arg)
{
    mtx_unlock(&m);
    return 0;
}

int main(void)
{
    thrd_t t;
    mtx_init(&m, mtx_plain);
    mtx_lock(&m);
    thrd_create(&t, work, NULL);
    thrd_join(t, NULL);
    mtx_destroy(&m);
    return 0;
}
