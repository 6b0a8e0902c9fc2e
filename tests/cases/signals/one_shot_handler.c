// compilers: gcc clang
// flags: -std=c99
// check:
// verdict: verified
// executions: 2
// check:
// flags: -std=c99 -D_XOPEN_SOURCE=700
// verdict: verified
// executions: 2

// With these flags signal() is the one of System V: the handler is for one signal. A handler of
// SIGSEGV must not stop raddle from noticing the first write to each page.
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static int pages[1 << 16];
static atomic_int x;
static volatile sig_atomic_t calls;

static void handler(int number)
{
    calls++;
}

static void *writer(void *arg)
{
    x = 1;
    return NULL;
}

int main(void)
{
    signal(SIGSEGV, handler);
    assert(signal(SIGUSR1, handler) == SIG_DFL);
    raise(SIGUSR1);
    assert(calls == 1);
    assert(signal(SIGUSR1, SIG_IGN) == SIG_DFL);
    raise(SIGUSR1);
    assert(calls == 1);
    for (int i = 0; i < 1 << 16; i += 512)
        pages[i] = i;
    pthread_t t;
    pthread_create(&t, NULL, writer, NULL);
    int seen = x;
    pthread_join(t, NULL);
    assert(seen <= 1 && calls == 1);
    return 0;
}
