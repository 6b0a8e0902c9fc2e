// check:
// flags: -DN=2
// verdict: verified
// executions: 5
// blocked: 0
// check:
// flags: -DN=5
// verdict: verified
// executions: 64
// blocked: 0
// check: --strategy dpor
// flags: -DN=5
// verdict: verified
// executions: 64
// check:
// flags: -DN=10
// verdict: verified
// executions: 3328
// blocked: 0
// check:
// flags: -DN=15
// long:
// verdict: verified
// executions: 147456
// blocked: 0

// Writer j sets a[j] = a[j-1] + 1; one thread searches for the last zero from the top.
#include <pthread.h>
#include <stdatomic.h>

atomic_int a[N + 1];

static void *search(void *arg)
{
    int i = N;
    while (atomic_load(&a[i]) != 0)
        i--;
    return NULL;
}

static void *write_one(void *arg)
{
    int j = *(int *)arg;
    atomic_store(&a[j], atomic_load(&a[j - 1]) + 1);
    return NULL;
}

int main(void)
{
    pthread_t t[N + 1];
    int id[N + 1];
    pthread_create(&t[0], NULL, search, NULL);
    for (int j = 1; j <= N; j++) {
        id[j] = j;
        pthread_create(&t[j], NULL, write_one, &id[j]);
    }
    for (int j = 0; j <= N; j++)
        pthread_join(t[j], NULL);
    return 0;
}
