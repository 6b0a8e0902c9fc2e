// A buffer of one slot with two condition variables, signal under the lock: N producers and N consumers, ITEMS items each.
// Expected executions with one successor per waiter that a signal may wake: 64 for N = 2, ITEMS = 1; 8 for N = 1, ITEMS = 2;
// 86336 for N = 2, ITEMS = 2 (50264 if a signal always woke the longest waiter; Nidhugg counts 29728).
#include <pthread.h>

#ifndef N
#define N 2
#endif
#ifndef ITEMS
#define ITEMS 2
#endif

pthread_mutex_t m;
pthread_cond_t not_full, not_empty;
int filled;

void *producer(void *arg)
{
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&m);
        while (filled == 1)
            pthread_cond_wait(&not_full, &m);
        filled++;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&m);
    }
    return 0;
}

void *consumer(void *arg)
{
    for (int i = 0; i < ITEMS; i++) {
        pthread_mutex_lock(&m);
        while (filled == 0)
            pthread_cond_wait(&not_empty, &m);
        filled--;
        pthread_cond_signal(&not_full);
        pthread_mutex_unlock(&m);
    }
    return 0;
}

int main(void)
{
    pthread_t t[2 * N];
    pthread_mutex_init(&m, 0);
    pthread_cond_init(&not_full, 0);
    pthread_cond_init(&not_empty, 0);
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], 0, producer, 0);
    for (int i = N; i < 2 * N; i++)
        pthread_create(&t[i], 0, consumer, 0);
    for (int i = 0; i < 2 * N; i++)
        pthread_join(t[i], 0);
    pthread_cond_destroy(&not_empty);
    pthread_cond_destroy(&not_full);
    pthread_mutex_destroy(&m);
    return 0;
}
