// N threads, each with ROUNDS locked increments of one counter.
#include <assert.h>
#include <pthread.h>

#ifndef N
#define N 3
#endif
#ifndef ROUNDS
#define ROUNDS 5
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void *work(void *arg) {
  for (int round = 0; round < ROUNDS; round++) {
    pthread_mutex_lock(&lock);
    counter++;
    pthread_mutex_unlock(&lock);
  }
  return arg;
}

int main(void) {
  pthread_t threads[N];
  for (int i = 0; i < N; i++) pthread_create(&threads[i], 0, work, 0);
  for (int i = 0; i < N; i++) pthread_join(threads[i], 0);
  assert(counter == N * ROUNDS);
}
