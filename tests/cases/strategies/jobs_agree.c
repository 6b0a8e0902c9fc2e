// check: --jobs 1
// verdict: verified
// executions: 720
// check: --jobs 2
// verdict: verified
// executions: 720
// check: --jobs 4
// verdict: verified
// executions: 720

// Counts do not depend on the number of workers: 6! orders.
#include <pthread.h>
#include <stdatomic.h>

atomic_int x;

static void *add(void *arg)
{
    atomic_fetch_add(&x, 1);
    return NULL;
}

int main(void)
{
    pthread_t t[6];
    for (int i = 0; i < 6; i++)
        pthread_create(&t[i], NULL, add, NULL);
    for (int i = 0; i < 6; i++)
        pthread_join(t[i], NULL);
    return 0;
}
