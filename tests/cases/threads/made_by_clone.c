// check:
// verdict: incomplete
// executions: 0

// A thread that the thread library does not know. The run ends before it is made, which is named.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <unistd.h>

static char stack[1 << 16] __attribute__((aligned(64)));

static int works(void *done)
{
    *(volatile int *)done = 1;
    return 0;
}

static void *nothing(void *arg)
{
    return arg;
}

int main(void)
{
    static int done;
    pthread_t t;
    pthread_create(&t, NULL, nothing, NULL);
    clone(works, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
          &done);
    usleep(1000);
    pthread_join(t, NULL);
    return 0;
}
