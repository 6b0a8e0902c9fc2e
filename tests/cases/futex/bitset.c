// flags: -D_GNU_SOURCE
// check:
// verdict: verified

// FUTEX_WAIT_BITSET and FUTEX_WAKE_BITSET with all bits: an event as with FUTEX_WAIT and
// FUTEX_WAKE.
#include <assert.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

atomic_int event;
int value;

static void *waiter(void *arg)
{
    while (!atomic_load(&event))
        syscall(SYS_futex, &event, FUTEX_WAIT_BITSET_PRIVATE, 0, NULL, NULL, FUTEX_BITSET_MATCH_ANY);
    assert(value == 1);
    return NULL;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, NULL, waiter, NULL);
    value = 1;
    atomic_store(&event, 1);
    syscall(SYS_futex, &event, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, NULL, NULL, FUTEX_BITSET_MATCH_ANY);
    pthread_join(t, NULL);
    return 0;
}
