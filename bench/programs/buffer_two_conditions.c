// A buffer of one slot with a condition variable for each direction, signal under the lock; each
// producer makes ITEMS items, the consumers share them. Expected executions: 86336 for 2 producers,
// 2 consumers and 2 items. Everything happens under one lock, so an execution is a sequence of
// critical sections and of the waiters that signals wake, and these can be counted by recursion
// over (what each thread still has to do, which threads wait where, whether the slot is filled). If a signal
// always woke the longest waiter, there would be 50264; Nidhugg visits 29728 of them.
#include <pthread.h>

#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef CONSUMERS
#define CONSUMERS 2
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
    for (int i = 0; i < ITEMS * PRODUCERS / CONSUMERS; i++) {
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
    pthread_t t[PRODUCERS + CONSUMERS];
    pthread_mutex_init(&m, 0);
    pthread_cond_init(&not_full, 0);
    pthread_cond_init(&not_empty, 0);
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
        pthread_create(&t[i], 0, i < PRODUCERS ? producer : consumer, 0);
    for (int i = 0; i < PRODUCERS + CONSUMERS; i++)
        pthread_join(t[i], 0);
    pthread_cond_destroy(&not_empty);
    pthread_cond_destroy(&not_full);
    pthread_mutex_destroy(&m);
    return 0;
}
