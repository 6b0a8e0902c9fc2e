// check:
// verdict: incomplete

// A busy loop that only the handler of a timer can end: no livelock. The handler is not called
// there, so the run is cut.
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/time.h>

static atomic_int ready;

static void handler(int number)
{
    ready = 1;
}

int main(void)
{
    struct itimerval span = { { 0, 1000 }, { 0, 1000 } };
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &span, NULL);
    while (!ready)
        ;
    return 0;
}
