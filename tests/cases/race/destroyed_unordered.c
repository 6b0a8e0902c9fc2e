// check:
// verdict: bug
// finding: data-race detail=init-destroy line=22 line2=35 var=c
// finding: misuse detail=cond-destroyed
// check:
// flags: -DSIGNAL_FIRST
// verdict: verified

// The waiter may destroy the condition variable as soon as it sees the flag: a signal behind the
// unlock comes too late.
#include <pthread.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int done;

static void *finish(void *arg)
{
    pthread_mutex_lock(&m);
    done = 1;
#ifndef SIGNAL_FIRST
    pthread_mutex_unlock(&m); pthread_cond_signal(&c);
#else
    pthread_cond_signal(&c); pthread_mutex_unlock(&m);
#endif
    return arg;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, finish, NULL);
    pthread_mutex_lock(&m);
    while (!done) pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m); pthread_cond_destroy(&c);
    pthread_join(t, NULL);
    return 0;
}
