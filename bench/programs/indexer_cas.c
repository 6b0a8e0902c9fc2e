// N threads insert four messages each into a hash table of 128 slots with a compare-exchange; on a
// collision the next slot is tried. Expected executions: 1 up to N = 11, then 8^(N-11): 8, 64, 512,
// 4096, 32768 for N = 12 to 16.
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 15
#endif
#define SIZE 128
#define MAX 4

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
