// check:
// flags: -O0
// verdict: verified
// check:
// flags: -O2
// verdict: verified
//
// A nested function (an extension of gcc) that another thread calls: its code is on the stack, which is
// executable for that.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int (*shared)(void);

static void *call(void *arg) {
  pthread_mutex_lock(&lock);
  assert(shared() == 3);
  pthread_mutex_unlock(&lock);
  return arg;
}

#ifdef __clang__
static int nested(void) { return 3; }
#endif

static void *offer(void *arg) {
#ifndef __clang__
  volatile int value = 3;
  int nested(void) { return value; }
#endif
  shared = nested;
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, call, 0);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  return arg;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, offer, 0);
  pthread_join(thread, 0);
  offer(0);
}
