// N threads add to one atomic counter, ROUNDS times each.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#ifndef N
#define N 4
#endif
#ifndef ROUNDS
#define ROUNDS 3
#endif

static atomic_int counter;

static void *work(void *arg) {
  for (int round = 0; round < ROUNDS; round++) atomic_fetch_add(&counter, 1);
  return arg;
}

int main(void) {
  pthread_t threads[N];
  for (int i = 0; i < N; i++) pthread_create(&threads[i], 0, work, 0);
  for (int i = 0; i < N; i++) pthread_join(threads[i], 0);
  assert(counter == N * ROUNDS);
}
