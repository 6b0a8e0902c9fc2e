// check:
// verdict: bug
// finding: deadlock detail=lost-wakeup line=17

// Waking first and storing afterwards leaves a gap in which the waiter goes to sleep.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

atomic_int event;

static void *waiter(void *arg)
{
    while (atomic_load(&event) == 0)
        syscall(SYS_futex, &event, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    return NULL;
}

static void *setter(void *arg)
{
    syscall(SYS_futex, &event, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    atomic_store(&event, 1);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, waiter, NULL);
    pthread_create(&b, NULL, setter, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
