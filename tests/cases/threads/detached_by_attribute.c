// check:
// verdict: verified
// executions: 1

// Created detached; main leaves with pthread_exit, so the thread may finish.
#include <assert.h>
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
    pthread_attr_t attr;
    int state;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_getdetachstate(&attr, &state);
    assert(state == PTHREAD_CREATE_DETACHED);
    pthread_create(&t, &attr, work, NULL);
    pthread_attr_destroy(&attr);
    pthread_exit(NULL);
}
