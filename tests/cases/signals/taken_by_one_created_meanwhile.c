// check:
// verdict: verified
// check:
// flags: -DNOT_BY_THE_LAST
// verdict: bug
// finding: assertion detail=assert
// check: --strategy optimal
// flags: -DNOT_BY_THE_LAST
// verdict: bug
// finding: assertion detail=assert

// A signal to the process may be taken by a thread that another one creates at the same time: if it was
// created before. So to send such a signal depends on the creation itself.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static _Thread_local volatile sig_atomic_t is_last;

static void handle(int number)
{
#ifdef NOT_BY_THE_LAST
    assert(!is_last);
#endif
}

static void *last(void *arg)
{
    is_last = 1;
    return arg;
}

static void *send(void *arg)
{
    kill(getpid(), SIGUSR1);
    return arg;
}

static void *create(void *arg)
{
    pthread_t t;
    pthread_create(&t, NULL, last, NULL);
    pthread_join(t, NULL);
    return arg;
}

int main(void)
{
    pthread_t t, u;
    signal(SIGUSR1, handle);
    pthread_create(&t, NULL, send, NULL);
    pthread_create(&u, NULL, create, NULL);
    pthread_join(t, NULL);
    pthread_join(u, NULL);
    return 0;
}
