// check:
// verdict: bug
// findings: at-least
// finding: data-race detail=read-write var=done line=13 line2=22

// A detached thread cannot be waited for, and here nothing else orders the two.
#include <threads.h>

int done;

static int work(void *arg)
{
    done = 1;
    return 0;
}

int main(void)
{
    thrd_t t;
    thrd_create(&t, work, NULL);
    thrd_detach(t);
    return done;
}
