// check:
// verdict: verified

// Two threads call exit at the same time: either may be the one that ends the process, and the
// handler runs once.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

atomic_int calls;

static void once(void)
{
    assert(atomic_fetch_add(&calls, 1) == 0);
}

static void *leave(void *arg)
{
    exit(0);
}

int main(void)
{
    pthread_t t;
    atexit(once);
    pthread_create(&t, NULL, leave, NULL);
    exit(0);
}
