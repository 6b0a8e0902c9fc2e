// compilers: gcc
// check:
// flags: -O0
// verdict: bug
// finding: livelock detail=spin
// check:
// flags: -O1
// verdict: bug
// finding: livelock detail=spin
// check: --strategy dpor
// flags: -O2
// verdict: bug
// finding: livelock detail=spin

// Two threads wait for ever for words of their own, one of them with a lock in each round. The other one
// waits for no lock, so there is no other execution in which this one goes on.
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int one, other;

static void *wait_with_a_lock(void *arg)
{
    while (!one) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

static void *wait(void *arg)
{
    while (!other)
        ;
    return arg;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, wait_with_a_lock, NULL);
    pthread_create(&b, NULL, wait, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
