// compilers: gcc clang
// check:
// flags: -O0
// verdict: verified
// check:
// flags: -O2
// verdict: verified
// check:
// flags: -O0 -DFIRST
// verdict: bug
// finding: assertion detail=assert
// check:
// flags: -O2 -DFIRST
// verdict: bug
// finding: assertion detail=assert

// A loop that looks at an atomic word and then at data under a lock. It ends for either. With FIRST
// the flag is set after the first round, which the thread must be able to see as well.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
atomic_int is_stopped;
int is_done;

static void *wait_for_either(void *arg)
{
    int rounds = 0;
    while (!atomic_load(&is_stopped)) {
        pthread_mutex_lock(&lock);
        int seen = is_done;
        pthread_mutex_unlock(&lock);
        if (seen)
            break;
        rounds = 1;
    }
#ifdef FIRST
    assert(rounds == 0);
#endif
    return rounds ? arg : NULL;
}

int main(void)
{
    pthread_t waiter;
    pthread_create(&waiter, NULL, wait_for_either, NULL);
    pthread_mutex_lock(&lock);
    is_done = 1;
    pthread_mutex_unlock(&lock);
    pthread_join(waiter, NULL);
    return 0;
}
