// compilers: gcc clang
// flags: -D_GNU_SOURCE
// check: --strategy stateful
// flags: -O0 -DSTORE
// verdict: bug
// finding: assertion
// check: --strategy stateful
// flags: -O2 -DSTORE
// verdict: bug
// finding: assertion
// check: --strategy stateful
// flags: -O0 -DADD
// verdict: bug
// finding: assertion
// check: --strategy stateful
// flags: -O2 -DEXCHANGE
// verdict: bug
// finding: assertion
// check: --strategy stateful
// flags: -O2 -DCREATE
// verdict: bug
// finding: assertion
// check: --strategy stateful
// flags: -O2 -DONCE
// verdict: bug
// finding: assertion
// check: --strategy stateful
// flags: -O0 -DJOIN
// verdict: bug
// finding: assertion
//
// A value that only the arguments of a pending call hold: states that differ in nothing else are two.
// The wrong value is there only for a moment, so that one run of each order does not show it.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static int x;
static atomic_int shown;

static void *set(void *arg) {
  pthread_mutex_lock(&lock);
  x = 1;
  pthread_mutex_unlock(&lock);
  return arg;
}

static void *look(void *arg) {
  assert(atomic_load(&shown) != 5);
  pthread_mutex_lock(&other);
  pthread_mutex_unlock(&other);
  return arg;
}

static int seen(void) {
  pthread_mutex_lock(&lock);
  int value = x + 5;
  pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&other);
  pthread_mutex_unlock(&other);
  return value;
}

static void *show(void *value) {
  atomic_store(&shown, (int)(intptr_t)value);
  return value;
}

#if defined ADD
static void tell(int value) { atomic_fetch_add(&shown, value); }
#elif defined EXCHANGE
static void tell(int value) {
  int before = 0;
  atomic_compare_exchange_strong(&shown, &before, value);
}
#elif defined CREATE
static void tell(int value) {
  pthread_t thread;
  pthread_create(&thread, 0, show, (void *)(intptr_t)value);
  pthread_join(thread, 0);
}
#elif defined ONCE
static void five(void) { show((void *)5); }
static void six(void) { show((void *)6); }
static void tell(int value) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, value == 5 ? five : six);
}
#elif defined JOIN
static void *give(void *value) { return value; }
static void tell(int value) {
  static void *results[2];
  pthread_t thread;
  pthread_create(&thread, 0, give, (void *)1);
  pthread_join(thread, &results[value == 5]);
  atomic_store(&shown, results[1] ? 5 : 6);
}
#else // STORE
static void tell(int value) { atomic_store(&shown, value); }
#endif

static void *get(void *arg) {
  tell(seen());
  atomic_store(&shown, 0);
  return show(arg);
}

int main(void) {
  pthread_t threads[3];
  pthread_create(&threads[0], 0, set, 0);
  pthread_create(&threads[1], 0, look, 0);
  pthread_create(&threads[2], 0, get, 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
}
