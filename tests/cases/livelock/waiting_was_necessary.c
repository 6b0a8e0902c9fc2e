// flags: -O2
// check:
// verdict: bug
// executions: 2
// finding: assertion detail=assert

// The same with a flag that optimised code keeps in a register, and far up the stack of a deep
// call.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int ready;

static void *set(void *arg)
{
    atomic_store(&ready, 1);
    return NULL;
}

__attribute__((noinline)) static int is_ready(char fill)
{
    volatile char room[2000];
    room[fill] = fill;
    return atomic_load(&ready) + room[fill];
}

__attribute__((noinline)) static int wait_for_it(void)
{
    int at_once = 1;
    while (!is_ready(0))
        at_once = 0;
    return at_once;
}

int main(void)
{
    pthread_t setter;
    pthread_create(&setter, NULL, set, NULL);
    assert(wait_for_it());
    pthread_join(setter, NULL);
    return 0;
}
