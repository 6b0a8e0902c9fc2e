// check:
// verdict: verified

// Looks first, exchanges then.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int held;
int count;

static void *work(void *arg)
{
    for (;;) {
        while (atomic_load(&held))
            ;
        if (!atomic_exchange(&held, 1))
            break;
    }
    count++;
    atomic_store(&held, 0);
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
