// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -DUNORDERED
// verdict: bug
// finding: data-race var=x line=20 line2=38

// What a thread did before it installed a handler happens before the handler runs, in any thread.
// What it does afterwards does not.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static int x, found;
static atomic_int installed;

static void handler(int number)
{
    found = x != 42 ? number : 0;
}

static void *raiser(void *arg)
{
    while (!atomic_load_explicit(&installed, memory_order_relaxed))
        ;
    raise(SIGUSR1);
    return arg;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, raiser, NULL);
    x = 42;
    signal(SIGUSR1, handler);
#ifdef UNORDERED
    x = 42;
#endif
    atomic_store_explicit(&installed, 1, memory_order_relaxed);
    pthread_join(t, NULL);
    return found;
}
