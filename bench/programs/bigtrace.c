// One long execution: N threads take turns around a ring, PHASES times; whose turn it is adds its
// left neighbour's row of memory to its own. Every hand-over is forced, so there is exactly one
// execution, of about 3 * N * PHASES * WORK events: 10 million with the defaults. Expected
// executions: 1.
#include <pthread.h>
#include <semaphore.h>

#ifndef N
#define N 8
#endif
#ifndef PHASES
#define PHASES 100
#endif
#ifndef WORK
#define WORK 4167
#endif

sem_t turn[N];
unsigned row[N][WORK];
int id[N];

void *work(void *arg)
{
    int i = *(int *)arg;
    int left = (i + N - 1) % N;
    for (int phase = 0; phase < PHASES; phase++) {
        sem_wait(&turn[i]);
        for (int k = 0; k < WORK; k++)
            row[i][k] += row[left][k] + 1;
        sem_post(&turn[(i + 1) % N]);
    }
    return 0;
}

int main(void)
{
    pthread_t t[N];
    for (int i = 0; i < N; i++)
        sem_init(&turn[i], 0, i == 0);
    for (int i = 0; i < N; i++) {
        id[i] = i;
        pthread_create(&t[i], 0, work, &id[i]);
    }
    for (int i = 0; i < N; i++)
        pthread_join(t[i], 0);
    for (int i = 0; i < N; i++)
        sem_destroy(&turn[i]);
    return 0;
}
