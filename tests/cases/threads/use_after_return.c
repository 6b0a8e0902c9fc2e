// compilers: gcc clang
// flags: -O2
// check:
// verdict: bug
// findings: at-least
// finding: memory detail=use-after-return line=43
// check:
// flags: -DOF_ENDED
// verdict: bug
// finding: memory detail=use-after-return line=71
// check:
// flags: -DWAITS
// verdict: verified
// check: --granularity access
// flags: -DWAITS
// verdict: verified

// A thread gets a pointer to a variable of a function that returns before the thread is done: its creator
// waits only later. The compiler places no hook where the creator uses the same bytes of its stack again, so no
// race shows the error. OF_ENDED: a thread returns a pointer to a variable of its own. WAITS: the variable
// lives as long as the thread; variables of callers, of a function's callees that came back, and arguments on
// the stack of a waiting thread are used by others.
#include <alloca.h>
#include <pthread.h>
#include <string.h>

static pthread_t thread;
static int result;

#ifdef OF_ENDED
static void *leaves(void *arg)
{
    int own[4] = {1, 2, 3, 4};
    void *volatile hidden = own;
    (void)arg;
    return hidden;
}
#else
static void *fill(void *arg)
{
    int *to = arg;
    for (int i = 0; i < 4; i++)
        to[i] = i;
    return NULL;
}

static __attribute__((noinline)) void begin(int depth)
{
    int room[4] = {0};
    int *further = alloca(16 * sizeof *further);
    memset(further, 0, 16 * sizeof *further);
    if (depth > 0) {
        begin(depth - 1);
        return;
    }
    pthread_create(&thread, NULL, fill, depth == 0 ? room : further);
#ifdef WAITS
    pthread_join(thread, NULL);
#endif
    __asm__ volatile("" : : "r"(room), "r"(further) : "memory");
}
#endif

int main(void)
{
#ifdef OF_ENDED
    void *left = NULL;
    pthread_create(&thread, NULL, leaves, NULL);
    pthread_join(thread, &left);
    volatile int *at = left;
    result = at[0];
    return 0;
#else
    begin(2);
#ifndef WAITS
    pthread_join(thread, NULL);
#endif
    return result;
#endif
}
