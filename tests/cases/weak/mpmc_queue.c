// check: --memory rc11
// verdict: verified
// check: --memory tso
// verdict: verified
// check: --memory rc11
// flags: -DPUBLISH=memory_order_relaxed
// verdict: bug
// finding: data-race
// findings: at-least

// Vyukov's bounded queue: each cell has a number that says whose turn it is. Two threads put something in and main
// takes out what is there. PUBLISH: a full cell is not released to the threads that take.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef PUBLISH
#define PUBLISH memory_order_release
#endif
#define SIZE 2

static struct cell {
    atomic_uint turn;
    int value;
} cells[SIZE];
static atomic_uint puts, takes;

static int put(int value) {
    unsigned at = atomic_load_explicit(&puts, memory_order_relaxed);
    for (;;) {
        struct cell *cell = &cells[at % SIZE];
        int ahead = (int)(atomic_load_explicit(&cell->turn, memory_order_acquire) - at);
        if (ahead < 0)
            return 0;
        if (ahead > 0) {
            at = atomic_load_explicit(&puts, memory_order_relaxed);
        } else if (atomic_compare_exchange_strong_explicit(&puts, &at, at + 1, memory_order_relaxed,
                                                           memory_order_relaxed)) {
            cell->value = value;
            atomic_store_explicit(&cell->turn, at + 1, PUBLISH);
            return 1;
        }
    }
}

static int take(int *value) {
    unsigned at = atomic_load_explicit(&takes, memory_order_relaxed);
    for (;;) {
        struct cell *cell = &cells[at % SIZE];
        int ahead = (int)(atomic_load_explicit(&cell->turn, memory_order_acquire) - (at + 1));
        if (ahead < 0)
            return 0;
        if (ahead > 0) {
            at = atomic_load_explicit(&takes, memory_order_relaxed);
        } else if (atomic_compare_exchange_strong_explicit(&takes, &at, at + 1, memory_order_relaxed,
                                                           memory_order_relaxed)) {
            *value = cell->value;
            atomic_store_explicit(&cell->turn, at + SIZE, memory_order_release);
            return 1;
        }
    }
}

static void *producer(void *arg) {
    assert(put((int)(long)arg));
    return NULL;
}

int main(void) {
    pthread_t one, other;
    int first = 0, second = 0;
    for (unsigned at = 0; at < SIZE; at++)
        atomic_init(&cells[at].turn, at);
    pthread_create(&one, NULL, producer, (void *)1);
    pthread_create(&other, NULL, producer, (void *)2);
    int count = take(&first);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    while (take(&second))
        first += second, count++;
    assert(count == 2 && first == 3);
    return 0;
}
