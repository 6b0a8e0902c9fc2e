// compilers: gcc clang
// check: --strategy stateful
// flags: -O0
// verdict: bug
// finding: assertion
// check: --strategy stateful
// flags: -O2
// verdict: bug
// finding: assertion
//
// An array that is read from its end: by a pointer behind it, and by an index that is negative until
// a constant is added.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static int x;
static atomic_int shown;

static void *set(void *arg) {
  pthread_mutex_lock(&lock);
  x = 1;
  pthread_mutex_unlock(&lock);
  return arg;
}

__attribute__((noinline)) static void pass(void) {
  pthread_mutex_lock(&other);
  pthread_mutex_unlock(&other);
}

static void *look(void *arg) {
  assert(atomic_load(&shown) != 5);
  pass();
  return arg;
}

static void *get(void *arg) {
  int values[64];
  for (long i = -64; i < 0; i++) values[i + 64] = 0;
  pthread_mutex_lock(&lock);
  values[40] = x + 5;
  pthread_mutex_unlock(&lock);
  int sum = 0, *end = values + 64;
  for (long i = -64; i < 0; i++) {
    if (i == -30 || i == -22) pass();
    sum += values[i + 64];
  }
  for (int i = 0; i < 64; i++) {
    if (i == 10) pass();
    sum += *--end;
  }
  atomic_store(&shown, sum / 2);
  atomic_store(&shown, 0);
  return arg;
}

int main(void) {
  pthread_t threads[3];
  pthread_create(&threads[0], 0, set, 0);
  pthread_create(&threads[1], 0, look, 0);
  pthread_create(&threads[2], 0, get, 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
}
