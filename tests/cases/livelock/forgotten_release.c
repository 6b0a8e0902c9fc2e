// check:
// verdict: bug
// executions: 2
// finding: livelock detail=spin

// A spin lock that is never released: the second thread spins for ever.
#include <pthread.h>
#include <stdatomic.h>

atomic_int held;

static void *work(void *arg)
{
    for (;;) {
        int free_ = 0;
        if (atomic_compare_exchange_strong(&held, &free_, 1))
            break;
    }
    return NULL;
}

int main(void)
{
    pthread_t t[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    return 0;
}
