// check:
// verdict: verified
// executions: 6
// blocked: 0

// x=1; x=2 || r=x; s=x: the two reads go into the three gaps around the writes, in order: 6 ways.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_int x;
int r, s;

static void *writer(void *arg)
{
    atomic_store(&x, 1);
    atomic_store(&x, 2);
    return NULL;
}

static void *reader(void *arg)
{
    r = atomic_load(&x);
    s = atomic_load(&x);
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    assert(r <= s);
    return 0;
}
