// A ticket lock with a waiting array (TWA): threads far from their turn spin on a slot of an array. N threads.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 4
#endif
#define SLOTS 4
#define NEAR 1

static atomic_uint next_ticket, now_serving, slots[SLOTS];
static int counter;

static void acquire(void)
{
    unsigned mine = atomic_fetch_add(&next_ticket, 1);
    unsigned distance = mine - atomic_load(&now_serving);
    if (distance > NEAR) {
        atomic_uint *slot = &slots[mine % SLOTS];
        for (;;) {
            unsigned seen = atomic_load(slot);
            if (mine - atomic_load(&now_serving) <= NEAR)
                break;
            while (atomic_load(slot) == seen)
                ;
        }
    }
    while (atomic_load(&now_serving) != mine)
        ;
}

static void release(void)
{
    unsigned next = atomic_load_explicit(&now_serving, memory_order_relaxed) + 1;
    atomic_store(&now_serving, next);
    atomic_fetch_add(&slots[(next + NEAR) % SLOTS], 1);
}

static void *enter(void *arg)
{
    acquire();
    counter++;
    release();
    return arg;
}

int main(void)
{
    pthread_t threads[N];
    for (int i = 0; i < N; i++)
        pthread_create(&threads[i], NULL, enter, NULL);
    for (int i = 0; i < N; i++)
        pthread_join(threads[i], NULL);
    assert(counter == N);
    return 0;
}
