// check:
// verdict: verified
// executions: 1

// A handler on an alternate stack survives the overflow of the thread's own stack, and leaves by a
// jump.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

static char room[1 << 16];
static sigjmp_buf start;
static volatile int depth, limit = 1000000;

static void handler(int number)
{
    siglongjmp(start, 1);
}

__attribute__((noinline)) static int dive(int level)
{
    volatile char local[4096];
    memset((char *)local, level, sizeof local);
    depth = level;
    return level < limit ? dive(level + 1) + local[level % 4096] : 0;
}

static void *body(void *arg)
{
    stack_t stack = { .ss_sp = room, .ss_size = sizeof room };
    sigaltstack(&stack, NULL);
    if (sigsetjmp(start, 1) == 0)
        dive(0);
    return NULL;
}

int main(void)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 256 << 10);
    pthread_t t;
    pthread_create(&t, &attr, body, NULL);
    pthread_join(t, NULL);
    assert(depth > 10);
    return 0;
}
