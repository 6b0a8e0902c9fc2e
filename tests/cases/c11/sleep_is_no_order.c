// check:
// verdict: bug
// finding: data-race var=done detail=read-write line=13 line2=23

// A sleep is no synchronisation, however long.
#include <threads.h>
#include <time.h>

int done;

static int work(void *arg)
{
    done = 1;
    return 0;
}

int main(void)
{
    thrd_t t;
    struct timespec second = { 1, 0 };
    thrd_create(&t, work, NULL);
    thrd_sleep(&second, NULL);
    int seen = done;
    thrd_join(t, NULL);
    return seen == 2;
}
