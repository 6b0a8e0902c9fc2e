// compilers: gcc clang
// flags: -Wno-stringop-overflow -Wno-array-bounds
// check:
// verdict: bug
// finding: crash detail=SIGSEGV
// findings: at-least
// check: --strategy dpor
// verdict: bug
// finding: crash detail=SIGSEGV
// findings: at-least
// check: --strategy stateful
// verdict: bug
// finding: crash detail=SIGSEGV
// findings: at-least
// check: --strategy pdp
// verdict: verified
// check: --granularity access
// verdict: bug
// finding: crash detail=SIGSEGV
// findings: at-least
// check:
// flags: -DREAD
// verdict: bug
// finding: data-race var=block[1]
// findings: at-least

// An access to nearly all of the address space: a size that became negative. It is one access, whatever
// its size: no analysis looks at each of its bytes. It ends in a crash.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char block[64];
static volatile int size = -1;

static void *other(void *arg)
{
    pthread_mutex_lock(&lock);
    block[1] = 1;
    pthread_mutex_unlock(&lock);
    return arg;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, other, NULL);
#ifndef READ
    pthread_mutex_lock(&lock);
    memset(block, 0, (size_t)size);
    pthread_mutex_unlock(&lock);
#else
    char *copy = malloc(16);
    memcpy(copy, block, (size_t)size);
#endif
    pthread_join(thread, NULL);
    return 0;
}
