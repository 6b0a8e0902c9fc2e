// check:
// verdict: incomplete
// check: --allow-exit 3
// flags: -DFIRST
// verdict: verified
// check:
// flags: -DSAME
// verdict: verified

// Two threads end the process, with different statuses: which one comes first decides. Not every order
// of these ends is tried, so nothing is verified. If both statuses are the same, or one end is ordered
// before the other, nothing is open.
#include <pthread.h>
#include <stdlib.h>

#ifdef SAME
#define STATUS 0
#else
#define STATUS 3
#endif

static void *end(void *arg)
{
    exit(STATUS);
    return arg;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, end, NULL);
#ifdef FIRST
    pthread_join(thread, NULL);
#endif
    return 0;
}
