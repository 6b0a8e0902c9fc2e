// compilers: gcc clang
// check:
// verdict: verified

// A spin lock by exchange: a failed round writes the value that is there already, which is no
// progress either.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_flag held = ATOMIC_FLAG_INIT;
int count;

static void *work(void *arg)
{
    while (atomic_flag_test_and_set_explicit(&held, memory_order_acquire))
        ;
    count++;
    atomic_flag_clear_explicit(&held, memory_order_release);
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    assert(count == 2);
    return 0;
}
