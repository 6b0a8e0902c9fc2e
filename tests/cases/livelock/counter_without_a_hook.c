// compilers: gcc clang
// check: --max-executions 20
// flags: -O0 -DSPECIFIC
// verdict: bug
// finding: assertion detail=assert
// check: --max-executions 20
// flags: -O2 -DSPECIFIC
// verdict: bug
// finding: assertion detail=assert
// check: --max-executions 20
// flags: -O0 -DCANCELLATION
// verdict: bug
// finding: assertion detail=assert
// check: --max-executions 20
// flags: -O2 -DCANCELLATION
// verdict: bug
// finding: assertion detail=assert
// check: --max-executions 20
// flags: -O0 -DSIGNALS
// verdict: bug
// finding: assertion detail=assert
// check: --max-executions 20
// flags: -O2 -DSIGNALS
// verdict: bug
// finding: assertion detail=assert
// check: --max-executions 20
// flags: -O0 -DDUPLICATE
// verdict: bug
// finding: assertion detail=assert
// check: --max-executions 20
// flags: -O2 -DDUPLICATE
// verdict: bug
// finding: assertion detail=assert
// check: --max-executions 20
// flags: -O0 -DMASK
// verdict: bug
// finding: assertion detail=assert
// check: --max-executions 20
// flags: -O2 -DMASK
// verdict: bug
// finding: assertion detail=assert
// check: --max-executions 20
// flags: -O0 -DPRINT
// verdict: bug
// finding: assertion detail=assert
// check: --max-executions 20
// flags: -O2 -DPRINT
// verdict: bug
// finding: assertion detail=assert
// check: --max-executions 20
// flags: -O0 -DRANDOM
// verdict: bug
// finding: assertion detail=assert
// check: --max-executions 20
// flags: -O2 -DRANDOM
// verdict: bug
// finding: assertion detail=assert

// Waiting loops whose rounds change what no hook reports: thread-specific data, the cancellation
// state, the signal mask, descriptors, the file mode mask, memory that the C library writes. Each
// round counts, so the number of rounds can be seen behind the loop.
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

atomic_int flag;

#ifdef SPECIFIC
static pthread_key_t key;

static void *wait_for_flag(void *arg)
{
    while (!atomic_load(&flag))
        pthread_setspecific(key, (char *)pthread_getspecific(key) + 1);
    assert((long)pthread_getspecific(key) < 2);
    return arg;
}
#elif defined CANCELLATION
static void *wait_for_flag(void *arg)
{
    int before;
    while (!atomic_load(&flag))
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
    assert(before == PTHREAD_CANCEL_ENABLE);
    return arg;
}
#elif defined SIGNALS
static void *wait_for_flag(void *arg)
{
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    while (!atomic_load(&flag))
        pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    assert(!sigismember(&before, SIGUSR1));
    return arg;
}
#elif defined DUPLICATE
static void *wait_for_flag(void *arg)
{
    int first = open("/dev/null", O_RDONLY);
    close(first);
    while (!atomic_load(&flag))
        if (dup(0) < 0)
            break;
    assert(dup(0) <= first);
    return arg;
}
#elif defined MASK
static void *wait_for_flag(void *arg)
{
    umask(0);
    while (!atomic_load(&flag))
        umask(1);
    assert(umask(0) == 0);
    return arg;
}
#elif defined PRINT
static void *wait_for_flag(void *arg)
{
    char *text = malloc(16);
    text[0] = '0';
    text[1] = 0;
    while (!atomic_load(&flag))
        snprintf(text, 16, "%d", atoi(text) + 1);
    assert(atoi(text) < 2);
    free(text);
    return arg;
}
#elif defined RANDOM
static void *wait_for_flag(void *arg)
{
    unsigned *seed = malloc(sizeof *seed);
    *seed = 1;
    while (!atomic_load(&flag))
        rand_r(seed);
    assert(*seed == 1);
    free(seed);
    return arg;
}
#endif

int main(void)
{
    pthread_t waiter;
#ifdef SPECIFIC
    pthread_key_create(&key, NULL);
#endif
    pthread_create(&waiter, NULL, wait_for_flag, NULL);
    atomic_store(&flag, 1);
    pthread_join(waiter, NULL);
    return 0;
}
