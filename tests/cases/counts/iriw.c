// check:
// verdict: verified
// executions: 15
// blocked: 0
// check: --strategy dpor
// verdict: verified
// executions: 15

// Two writers, two readers in opposite orders: four reads, each before or after its write, 16
// combinations, less the one in which the readers see the writes in different orders.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int x, y;
int a, b, c, d;

static void *write_x(void *arg)
{
    atomic_store(&x, 1);
    return NULL;
}

static void *write_y(void *arg)
{
    atomic_store(&y, 1);
    return NULL;
}

static void *read_xy(void *arg)
{
    a = atomic_load(&x);
    b = atomic_load(&y);
    return NULL;
}

static void *read_yx(void *arg)
{
    c = atomic_load(&y);
    d = atomic_load(&x);
    return NULL;
}

int main(void)
{
    pthread_t t[4];
    pthread_create(&t[0], NULL, write_x, NULL);
    pthread_create(&t[1], NULL, write_y, NULL);
    pthread_create(&t[2], NULL, read_xy, NULL);
    pthread_create(&t[3], NULL, read_yx, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    assert(!(a == 1 && b == 0 && c == 1 && d == 0));
    return 0;
}
