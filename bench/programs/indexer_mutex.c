// As indexer_cas.c with a mutex per slot.
// Expected executions: 1 up to N = 11, then 8^(N-11): 8, 64, 512, 4096, 32768 for N = 12 to 16.
#include <pthread.h>

#ifndef N
#define N 15
#endif
#define SIZE 128
#define MAX 4

pthread_mutex_t lock[SIZE];
int table[SIZE];
int id[N];

void *insert(void *arg)
{
    int tid = *(int *)arg;
    int m = 0;
    while (m < MAX) {
        int w = ++m * 11 + tid;
        int h = (w * 7) % SIZE;
        int done = 0;
        while (!done) {
            pthread_mutex_lock(&lock[h]);
            if (table[h] == 0) {
                table[h] = w;
                done = 1;
            }
            pthread_mutex_unlock(&lock[h]);
            h = (h + 1) % SIZE;
        }
    }
    return 0;
}

int main(void)
{
    pthread_t t[N];
    for (int i = 0; i < SIZE; i++)
        pthread_mutex_init(&lock[i], 0);
    for (int i = 0; i < N; i++) {
        id[i] = i;
        pthread_create(&t[i], 0, insert, &id[i]);
    }
    for (int i = 0; i < N; i++)
        pthread_join(t[i], 0);
    for (int i = 0; i < SIZE; i++)
        pthread_mutex_destroy(&lock[i]);
    return 0;
}
