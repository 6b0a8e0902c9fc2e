// check:
// verdict: verified
// executions: 2

// A one-shot event. The waiter looks before the store and sleeps (then store and wake follow), or
// sees it set.
#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

atomic_int event;
int data;

static void *waiter(void *arg)
{
    syscall(SYS_futex, &event, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    assert(atomic_load(&event) == 1);
    assert(data == 42);
    return NULL;
}

static void *setter(void *arg)
{
    data = 42;
    atomic_store(&event, 1);
    syscall(SYS_futex, &event, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
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
