// compilers: gcc clang
// check: --strategy stateful
// flags: -O1
// verdict: verified
// most-runs: 1200

// A lock whose users subtract, add back and look again: rounds that failed leave nothing behind.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define BIAS 0x100000

static atomic_int lock = BIAS;
static int data;

static void *writer(void *arg)
{
    while (atomic_fetch_sub(&lock, BIAS) != BIAS) {
        atomic_fetch_add(&lock, BIAS);
        while (atomic_load(&lock) != BIAS)
            ;
    }
    data++;
    atomic_fetch_add(&lock, BIAS);
    return arg;
}

static void *reader(void *arg)
{
    while (atomic_fetch_sub(&lock, 1) <= 0) {
        atomic_fetch_add(&lock, 1);
        while (atomic_load(&lock) <= 0)
            ;
    }
    assert(data <= 2);
    atomic_fetch_add(&lock, 1);
    return arg;
}

int main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, i < 2 ? writer : reader, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert(data == 2);
    return 0;
}
