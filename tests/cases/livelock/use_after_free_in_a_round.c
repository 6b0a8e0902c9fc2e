// compilers: gcc clang
// check: --stop-at-first
// verdict: bug
// finding: memory detail=use-after-free line=25
// findings: at-least

// A block of the last round is still pointed to when the next one begins, so its room is not used again.
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int done;
static char *volatile last;

static void *waits(void *unused)
{
    char seen = 0;
    while (!atomic_load(&done)) {
        char *old = last;
        char *volatile block = malloc(24);
        block[0] = 1;
        last = block;
        free(block);
        if (old)
            seen += old[0];
    }
    return seen ? unused : NULL;
}

int main(void)
{
    pthread_t waiter;
    pthread_create(&waiter, NULL, waits, NULL);
    atomic_store(&done, 1);
    pthread_join(waiter, NULL);
    return 0;
}
