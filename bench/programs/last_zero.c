// Writer j sets a[j] = a[j-1] + 1 for j = 1 to N, one thread searches for the last zero from the
// top. Expected executions: 5, 12, 28, 64 for N = 2 to 5; 3328 for N = 10; 147456 for N = 15.
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 15
#endif

atomic_int a[N + 1];
int id[N + 1];

void *search(void *arg)
{
    int i = N;
    while (atomic_load(&a[i]) != 0)
        i--;
    return 0;
}

void *write_one(void *arg)
{
    int j = *(int *)arg;
    atomic_store(&a[j], atomic_load(&a[j - 1]) + 1);
    return 0;
}

int main(void)
{
    pthread_t t[N + 1];
    pthread_create(&t[0], 0, search, 0);
    for (int j = 1; j <= N; j++) {
        id[j] = j;
        pthread_create(&t[j], 0, write_one, &id[j]);
    }
    for (int j = 0; j <= N; j++)
        pthread_join(t[j], 0);
    return 0;
}
