// A long beginning and a short end: main computes a table, in ROUNDS rounds per entry, and then N
// threads add entries of it to a total under a lock. Expected executions: N! (120 for N = 5).
#include <pthread.h>

#ifndef N
#define N 5
#endif
#ifndef ENTRIES
#define ENTRIES 1024
#endif
#ifndef ROUNDS
#define ROUNDS 2000
#endif

pthread_mutex_t m;
unsigned table[ENTRIES];
unsigned total;
int id[N];

void *work(void *arg)
{
    unsigned value = table[*(int *)arg % ENTRIES];
    pthread_mutex_lock(&m);
    total += value;
    pthread_mutex_unlock(&m);
    return 0;
}

int main(void)
{
    pthread_t t[N];
    pthread_mutex_init(&m, 0);
    for (int i = 0; i < ENTRIES; i++) {
        unsigned value = i;
        for (int j = 0; j < ROUNDS; j++)
            value = value * 1103515245u + 12345u;
        table[i] = value;
    }
    for (int i = 0; i < N; i++) {
        id[i] = i;
        pthread_create(&t[i], 0, work, &id[i]);
    }
    for (int i = 0; i < N; i++)
        pthread_join(t[i], 0);
    pthread_mutex_destroy(&m);
    return 0;
}
