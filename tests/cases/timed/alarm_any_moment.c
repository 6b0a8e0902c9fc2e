// check:
// verdict: verified
// executions: 3
// check:
// flags: -DDISARMS
// verdict: verified
// executions: 4
// check:
// flags: -DTOO_LATE
// verdict: bug
// finding: assertion detail=assert
// executions: 4

// A timer goes off at any moment between being armed and being disarmed. The program has one thread. The
// handler runs before one of its two stores, or in the sleep, behind which it has run: 3 orders. With
// DISARMS it runs before one of the stores or before the second alarm(), or not at all: 4. With TOO_LATE
// it runs before one of the stores or before the exit, or not at all.
#include <assert.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t handled;
static atomic_int a, b;

static void handle(int number)
{
    handled = 1;
}

int main(void)
{
    signal(SIGALRM, handle);
    alarm(1);
    atomic_store(&a, 1);
    atomic_store(&b, 1);
#ifdef DISARMS
    alarm(0);
    int before = handled;
    atomic_store(&a, 2);
    assert(handled == before);
#elif defined TOO_LATE
    assert(!handled);
#else
    sleep(2);
    assert(handled);
#endif
    return 0;
}
