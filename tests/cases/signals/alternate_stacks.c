// compilers: gcc clang
// check:
// verdict: verified
// executions: 6

// Each thread has an alternate stack of its own. A handler on it may wait for other threads. Each
// thread adds twice: the additions come in 4! / (2! 2!) orders.
#define _GNU_SOURCE
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SIZE = 1 << 16 };

static atomic_int x;
static __thread char *mine;

static void handler(int number)
{
    char here;
    assert(&here >= mine && &here < mine + SIZE);
    stack_t now;
    sigaltstack(NULL, &now);
    assert(now.ss_flags == SS_ONSTACK && now.ss_sp == mine);
    x++;
}

static void *body(void *arg)
{
    stack_t stack = { 0 };
    sigaltstack(NULL, &stack);
    assert(stack.ss_flags == SS_DISABLE);
    mine = malloc(SIZE);
    stack = (stack_t){ .ss_sp = mine, .ss_size = SIZE };
    sigaltstack(&stack, NULL);
    x++;
    raise(SIGUSR1);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    free(mine);
    return NULL;
}

int main(void)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
    sigaction(SIGUSR1, &action, NULL);
    pthread_t t;
    pthread_create(&t, NULL, body, NULL);
    body(NULL);
    pthread_join(t, NULL);
    return 0;
}
