// check: --self-check 1
// verdict: incomplete

// Threads that wait on one futex word are moved to another: one wake-up there for each. A requeue
// that finds another value in the word moves no thread. The verdict says that the threads were
// woken instead of being moved.
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
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
    assert(syscall(SYS_futex, &from, FUTEX_CMP_REQUEUE_PRIVATE, 0, (void *)1, &to, 7) == -1 && errno == EAGAIN);
    long moved = syscall(SYS_futex, &from, FUTEX_CMP_REQUEUE_PRIVATE, 0, (void *)1, &to, 0);
    assert(moved == 0 || moved == 1);
    from = 1;
    syscall(SYS_futex, &to, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    syscall(SYS_futex, &from, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    pthread_join(a, NULL);
    return 0;
}
