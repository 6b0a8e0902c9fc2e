// check:
// verdict: bug
// finding: assertion detail=assert line=27

// The reader does not look at the sequence number again.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

atomic_uint seq;
atomic_int low, high;

static void *writer(void *arg)
{
    atomic_store(&seq, 1);
    atomic_store(&low, 1);
    atomic_store(&high, 1);
    atomic_store(&seq, 2);
    return NULL;
}

static void *reader(void *arg)
{
    if (atomic_load(&seq) % 2 == 0) {
        int l = atomic_load(&low);
        int h = atomic_load(&high);
        assert(l == h);
    }
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    pthread_create(&a, NULL, writer, NULL);
    pthread_create(&b, NULL, reader, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
