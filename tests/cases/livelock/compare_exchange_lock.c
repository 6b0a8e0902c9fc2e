// compilers: gcc clang
// check:
// flags: -O1 -DN=2
// verdict: verified
// executions: 2
// check:
// flags: -O1 -DN=3
// verdict: verified
// executions: 6

// A spin lock by compare-exchange: failed exchanges are failed looks, N! executions.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int held;
int count;

static void *work(void *arg)
{
    for (;;) {
        int free_ = 0;
        if (atomic_compare_exchange_strong(&held, &free_, 1))
            break;
    }
    count++;
    atomic_store(&held, 0);
    return NULL;
}

int main(void)
{
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    assert(count == N);
    return 0;
}
