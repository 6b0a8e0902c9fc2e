// check: --max-events 200000
// verdict: verified
// check: --max-events 200000
// flags: -DRACE
// verdict: bug
// finding: data-race var=table[19999]

// Each thread makes 4,000,000 accesses to 20,000 places between two transitions. Those after the first
// round add nothing about races, so they are no events. With RACE, the last place of one table is written
// by the other thread, too: its first write is an event, and so is the read.

#include <pthread.h>

#define PLACES 20000
#define ROUNDS 100

static int table[PLACES], other[PLACES];

static void *work(void *arg) {
    int *mine = arg;
    for (int round = 0; round < ROUNDS; round++)
        for (int at = 0; at < PLACES; at++)
            mine[at] += round;
#ifdef RACE
    if (mine == other)
        table[PLACES - 1] = 0;
#endif
    return 0;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, work, table);
    pthread_create(&threads[1], 0, work, other);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}
