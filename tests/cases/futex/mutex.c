// compilers: gcc clang
// check:
// verdict: verified

// A three-state futex mutex.
#include <assert.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

atomic_int state; // 0 free, 1 held, 2 held and a thread may wait
int count;

static void lock(void)
{
    int expected = 0;
    if (atomic_compare_exchange_strong(&state, &expected, 1))
        return;
    while (atomic_exchange(&state, 2) != 0)
        syscall(SYS_futex, &state, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static void unlock(void)
{
    if (atomic_exchange(&state, 0) == 2)
        syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *add(void *arg)
{
    lock();
    count++;
    unlock();
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, add, NULL);
    pthread_create(&b, NULL, add, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(count == 2);
    return 0;
}
