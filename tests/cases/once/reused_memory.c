// compilers: gcc clang
// check:
// verdict: verified
// executions: 1
// check: --strategy dpor
// verdict: verified
// executions: 1

// A control in memory that held another one before: in a heap block that was freed, in a variable
// that is initialised again, and on the stack of a function that is called twice.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

static int calls;

static void initialise(void)
{
    calls++;
}

static void *body(void *arg)
{
    pthread_once_t *control = arg;
    pthread_once(control, initialise);
    free(control);
    return NULL;
}

__attribute__((noinline)) static void on_stack(void)
{
    pthread_once_t control = PTHREAD_ONCE_INIT;
    pthread_once(&control, initialise);
    pthread_once(&control, initialise);
}

int main(void)
{
    static pthread_once_t variable = PTHREAD_ONCE_INIT;
    pthread_t t;
    for (int i = 0; i < 2; i++) {
        pthread_create(&t, NULL, body, calloc(1, sizeof(pthread_once_t)));
        pthread_join(t, NULL);
        body(calloc(1, sizeof(pthread_once_t)));
        on_stack();
        pthread_once(&variable, initialise);
        variable = (pthread_once_t)PTHREAD_ONCE_INIT;
    }
    assert(calls == 8);
    return 0;
}
