// A ticket lock, N threads with one entry each; busy waiting folded. Expected executions: N! (720
// for N = 6).
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 6
#endif

atomic_int next, serving;
int count;

void *work(void *arg)
{
    int ticket = atomic_fetch_add(&next, 1);
    while (atomic_load(&serving) != ticket)
        ;
    count++;
    atomic_store(&serving, ticket + 1);
    return 0;
}

int main(void)
{
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], 0, work, 0);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], 0);
    assert(count == N);
    return 0;
}
