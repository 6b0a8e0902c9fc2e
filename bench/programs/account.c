// N threads load an atomic balance and store it plus 10. Expected executions: (N!)^2 (14400 for N =
// 5).
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 5
#endif

atomic_int balance;

void *deposit(void *arg)
{
    int b = atomic_load(&balance);
    atomic_store(&balance, b + 10);
    return 0;
}

int main(void)
{
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], 0, deposit, 0);
    for (int i = 0; i < N; i++)
        pthread_join(t[i], 0);
    return 0;
}
