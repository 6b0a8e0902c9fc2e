// flags: -D_GNU_SOURCE
// check:
// verdict: bug
// findings: at-least
// finding: data-race detail=read-write var=done line=14 line2=23

// The result of trying to join is not looked at: the thread may still run.
#include <pthread.h>

int done;

static void *work(void *arg)
{
    done = 1;
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, work, NULL);
    pthread_tryjoin_np(t, NULL);
    return done - 1;
}
