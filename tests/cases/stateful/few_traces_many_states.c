// check:
// verdict: verified
// executions: 512

// 14 threads insert four messages each into a hash table of 128 slots with a compare-exchange; on a
// collision the next slot is tried. The last three threads collide with others, in 8 ways each: 512 traces.
// Each run leads to some 30 new states, so recognising states is no gain: the search of traces ends the
// check.

#include <pthread.h>
#include <stdatomic.h>

enum { N = 14, SIZE = 128, MAX = 4 };

atomic_int table[SIZE];
int id[N];

void *insert(void *arg)
{
    int tid = *(int *)arg;
    int m = 0;
    while (m < MAX) {
        int w = ++m * 11 + tid;
        int h = (w * 7) % SIZE;
        for (;;) {
            int empty = 0;
            if (atomic_compare_exchange_strong(&table[h], &empty, w))
                break;
            h = (h + 1) % SIZE;
        }
    }
    return 0;
}

int main(void)
{
    pthread_t t[N];
    for (int i = 0; i < N; i++) {
        id[i] = i;
        pthread_create(&t[i], 0, insert, &id[i]);
    }
    for (int i = 0; i < N; i++)
        pthread_join(t[i], 0);
    return 0;
}
