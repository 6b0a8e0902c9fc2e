// N threads look a value up under a read lock, and compute it under the write lock if it is missing.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

#ifndef N
#define N 6
#endif
#define KEYS 2

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static int cache[KEYS];
static int computed;

static int look_up(int key) {
  pthread_rwlock_rdlock(&lock);
  int value = cache[key];
  pthread_rwlock_unlock(&lock);
  if (value) return value;
  pthread_rwlock_wrlock(&lock);
  if (!cache[key]) {
    cache[key] = 10 + key;
    computed++;
  }
  value = cache[key];
  pthread_rwlock_unlock(&lock);
  return value;
}

static void *work(void *arg) {
  int key = (int)(intptr_t)arg % KEYS;
  assert(look_up(key) == 10 + key);
  return 0;
}

int main(void) {
  pthread_t threads[N];
  for (intptr_t i = 0; i < N; i++) pthread_create(&threads[i], 0, work, (void *)i);
  for (int i = 0; i < N; i++) pthread_join(threads[i], 0);
  assert(computed == KEYS);
}
