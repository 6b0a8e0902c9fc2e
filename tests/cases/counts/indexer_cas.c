// check:
// flags: -DN=11
// verdict: verified
// executions: 1
// blocked: 0
// check:
// flags: -DN=12
// verdict: verified
// executions: 8
// blocked: 0
// check:
// flags: -DN=13
// verdict: verified
// executions: 64
// blocked: 0
// check:
// flags: -DN=14
// verdict: verified
// executions: 512
// blocked: 0
// check:
// flags: -DN=15
// verdict: verified
// executions: 4096
// blocked: 0
// check:
// flags: -DN=16
// long:
// verdict: verified
// executions: 32768
// blocked: 0

// The indexer of the Inspect paper's Table 1, with a C11 compare-exchange as in the original benchmark. N threads insert
// four messages each into a hash table of 128 slots. Up to 11 threads never meet; from the 12th on each brings three
// slots that two threads want, so 8 times as many executions. A failed exchange is a read.
#include <pthread.h>
#include <stdatomic.h>

#define SIZE 128
#define MAX 4

atomic_int table[SIZE];

static void *insert(void *arg)
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
    return NULL;
}

int main(void)
{
    pthread_t t[N];
    int id[N];
    for (int i = 0; i < N; i++) {
        id[i] = i;
        pthread_create(&t[i], NULL, insert, &id[i]);
    }
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    return 0;
}
