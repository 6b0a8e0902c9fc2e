// check:
// flags: -DN=2
// verdict: verified
// executions: 2
// check:
// flags: -DN=3
// verdict: verified
// executions: 6
// check:
// flags: -DN=6
// verdict: verified
// executions: 720

// A ticket lock: the order of the tickets decides everything, failed looks at `serving` are no executions of their own.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int next, serving;
int count;

static void *work(void *arg)
{
    int ticket = atomic_fetch_add(&next, 1);
    while (atomic_load(&serving) != ticket)
        ;
    count++;
    atomic_store(&serving, ticket + 1);
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
