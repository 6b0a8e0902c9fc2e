// N threads, each with a slot of its own in an array that one mutex protects.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

#ifndef N
#define N 9
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int slots[N];

static void *work(void *arg) {
  intptr_t own = (intptr_t)arg;
  pthread_mutex_lock(&lock);
  slots[own] = (int)own + 1;
  pthread_mutex_unlock(&lock);
  return 0;
}

int main(void) {
  pthread_t threads[N];
  for (intptr_t i = 0; i < N; i++) pthread_create(&threads[i], 0, work, (void *)i);
  for (int i = 0; i < N; i++) pthread_join(threads[i], 0);
  for (int i = 0; i < N; i++) assert(slots[i] == i + 1);
}
