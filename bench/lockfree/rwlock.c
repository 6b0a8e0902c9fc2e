// A lock for readers and writers that counts down from a bias, as Linux had it: W writers, R readers.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef W
#define W 2
#endif
#ifndef R
#define R 2
#endif
#define BIAS 0x100000

static atomic_int lock = BIAS;
static int data;

static void read_lock(void)
{
    while (atomic_fetch_sub_explicit(&lock, 1, memory_order_acquire) <= 0) {
        atomic_fetch_add_explicit(&lock, 1, memory_order_relaxed);
        while (atomic_load_explicit(&lock, memory_order_relaxed) <= 0)
            ;
    }
}

static void read_unlock(void)
{
    atomic_fetch_add_explicit(&lock, 1, memory_order_release);
}

static void write_lock(void)
{
    while (atomic_fetch_sub_explicit(&lock, BIAS, memory_order_acquire) != BIAS) {
        atomic_fetch_add_explicit(&lock, BIAS, memory_order_relaxed);
        while (atomic_load_explicit(&lock, memory_order_relaxed) != BIAS)
            ;
    }
}

static void write_unlock(void)
{
    atomic_fetch_add_explicit(&lock, BIAS, memory_order_release);
}

static void *reader(void *arg)
{
    read_lock();
    int seen = data;
    assert(seen >= 0 && seen <= W);
    read_unlock();
    return arg;
}

static void *writer(void *arg)
{
    write_lock();
    data++;
    write_unlock();
    return arg;
}

int main(void)
{
    pthread_t threads[W + R];
    for (int i = 0; i < W + R; i++)
        pthread_create(&threads[i], NULL, i < W ? writer : reader, NULL);
    for (int i = 0; i < W + R; i++)
        pthread_join(threads[i], NULL);
    assert(data == W);
    return 0;
}
