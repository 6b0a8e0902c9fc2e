// check:
// verdict: incomplete

// The waiter may have been moved to the second word, where no thread wakes it. raddle wakes it at
// once, does not see the lost wake-up, and says so.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int from, to;

static void *waiter(void *arg)
{
    syscall(SYS_futex, &from, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    return arg;
}

int main(void)
{
    pthread_t a;
    pthread_create(&a, NULL, waiter, NULL);
    syscall(SYS_futex, &from, FUTEX_REQUEUE_PRIVATE, 0, (void *)1, &to, 0);
    from = 1;
    syscall(SYS_futex, &from, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    pthread_join(a, NULL);
    return 0;
}
