// check:
// verdict: bug
// findings: at-least
// finding: deadlock detail=lost-wakeup

// The word that is waited on never changes, so the check at falling asleep cannot notice an unlock
// that came between.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

atomic_int state, waiters;

static void lock(void)
{
    int expected = 0;
    while (!atomic_compare_exchange_strong(&state, &expected, 1)) {
        expected = 0;
        syscall(SYS_futex, &waiters, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
}

static void unlock(void)
{
    atomic_store(&state, 0);
    syscall(SYS_futex, &waiters, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *work(void *arg)
{
    lock();
    unlock();
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, work, NULL);
    pthread_create(&b, NULL, work, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
