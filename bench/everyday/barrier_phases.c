// N threads go through PHASES that a barrier separates, and each reads its neighbour's last result.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

#ifndef N
#define N 5
#endif
#ifndef PHASES
#define PHASES 3
#endif

static pthread_barrier_t barrier;
static int values[2][N];

static void *work(void *arg) {
  intptr_t own = (intptr_t)arg;
  for (int phase = 0; phase < PHASES; phase++) {
    int now = phase % 2;
    values[1 - now][own] = values[now][(own + 1) % N] + 1;
    pthread_barrier_wait(&barrier);
  }
  return 0;
}

int main(void) {
  pthread_t threads[N];
  pthread_barrier_init(&barrier, 0, N);
  for (intptr_t i = 0; i < N; i++) pthread_create(&threads[i], 0, work, (void *)i);
  for (int i = 0; i < N; i++) pthread_join(threads[i], 0);
  for (int i = 0; i < N; i++) assert(values[PHASES % 2][i] == PHASES);
}
