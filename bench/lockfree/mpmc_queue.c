// A bounded queue for W producers and R consumers: positions are claimed by compare-exchange on one word and
// published in order.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#ifndef W
#define W 2
#endif
#ifndef R
#define R 2
#endif
#define SIZE 4
#define LOW 0xffffu

// Claimed for reading in the upper half, for writing in the lower.
static atomic_uint claimed, consumed, published;
static int slots[SIZE];
static int taken[R];

static int *begin_write(void)
{
    unsigned now = atomic_load(&claimed), reads, writes;
    do {
        reads = now >> 16;
        writes = now & LOW;
        if (writes == ((reads + SIZE) & LOW))
            return NULL;
    } while (!atomic_compare_exchange_strong(&claimed, &now, reads << 16 | ((writes + 1) & LOW)));
    while (writes - atomic_load(&consumed) >= SIZE)
        ;
    return &slots[writes % SIZE];
}

static void end_write(int *slot)
{
    unsigned mine = (unsigned)(slot - slots);
    while (atomic_load(&published) % SIZE != mine)
        ;
    atomic_fetch_add(&published, 1);
}

static int *begin_read(void)
{
    unsigned now = atomic_load(&claimed), reads, writes;
    do {
        reads = now >> 16;
        writes = now & LOW;
        if (writes == reads)
            return NULL;
    } while (!atomic_compare_exchange_strong(&claimed, &now, ((reads + 1) & LOW) << 16 | writes));
    while (atomic_load(&published) <= reads)
        ;
    return &slots[reads % SIZE];
}

static void *producer(void *arg)
{
    int *slot = begin_write();
    assert(slot != NULL);
    *slot = 1 + (int)(size_t)arg;
    end_write(slot);
    return NULL;
}

static void *consumer(void *arg)
{
    int *slot = begin_read();
    if (slot != NULL) {
        taken[(size_t)arg] = *slot;
        atomic_fetch_add(&consumed, 1);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[W + R];
    for (size_t i = 0; i < W + R; i++)
        pthread_create(&threads[i], NULL, i < W ? producer : consumer, (void *)(i < W ? i : i - W));
    for (size_t i = 0; i < W + R; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < R; i++) {
        assert(taken[i] >= 0 && taken[i] <= W);
        for (int j = 0; j < i; j++)
            assert(taken[i] == 0 || taken[i] != taken[j]);
    }
    return 0;
}
