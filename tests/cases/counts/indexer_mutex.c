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
// check: --strategy dpor
// flags: -DN=13
// verdict: verified
// executions: 64
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

// The indexer as the Inspect paper ran it: the compare-and-swap is a function that takes a mutex, here one per slot.
#include <pthread.h>

#define SIZE 128
#define MAX 4

static pthread_mutex_t lock[SIZE];
int table[SIZE];

static int swap_if_empty(int h, int w)
{
    int done = 0;
    pthread_mutex_lock(&lock[h]);
    if (table[h] == 0) {
        table[h] = w;
        done = 1;
    }
    pthread_mutex_unlock(&lock[h]);
    return done;
}

static void *insert(void *arg)
{
    int tid = *(int *)arg;
    int m = 0;
    while (m < MAX) {
        int w = ++m * 11 + tid;
        int h = (w * 7) % SIZE;
        while (!swap_if_empty(h, w))
            h = (h + 1) % SIZE;
    }
    return NULL;
}

int main(void)
{
    pthread_t t[N];
    int id[N];
    for (int i = 0; i < SIZE; i++)
        pthread_mutex_init(&lock[i], NULL);
    for (int i = 0; i < N; i++) {
        id[i] = i;
        pthread_create(&t[i], NULL, insert, &id[i]);
    }
    for (int i = 0; i < N; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < SIZE; i++)
        pthread_mutex_destroy(&lock[i]);
    return 0;
}
