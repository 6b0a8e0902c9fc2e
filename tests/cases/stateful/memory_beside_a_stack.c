// compilers: gcc clang
// check: --strategy stateful
// flags: -O0
// verdict: bug
// finding: assertion
// check: --strategy stateful
// flags: -O2
// verdict: bug
// finding: assertion
// check: --strategy stateful
// flags: -O0 -DLARGE
// verdict: bug
// finding: assertion
//
// A thread whose stack its creator has chosen, and that has ended: what lies between this stack and the
// thread's storage, or shares a page with it, is memory like any other.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static int x;
static atomic_int shown, ended;
static char stack[1 << 17];
static int beside;

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

static void *end(void *arg) {
  atomic_fetch_add(&ended, 1);
  return arg;
}

static void *get(void *arg) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
#ifdef LARGE
  pthread_attr_setstacksize(&attributes, 32 << 20);
#else
  pthread_attr_setstack(&attributes, stack, sizeof stack);
#endif
  pthread_t thread;
  pthread_create(&thread, &attributes, end, 0);
  pthread_attr_destroy(&attributes);
  pthread_join(thread, 0);
#ifdef LARGE
  int *value = malloc(sizeof *value);
#else
  int *value = &beside;
#endif
  pthread_mutex_lock(&lock);
  *value = x + 5;
  pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&other);
  pthread_mutex_unlock(&other);
  atomic_store(&shown, *value);
  atomic_store(&shown, 0);
#ifdef LARGE
  free(value);
#endif
  return arg;
}

int main(void) {
  pthread_t threads[3];
  pthread_create(&threads[0], 0, set, 0);
  pthread_create(&threads[1], 0, look, 0);
  pthread_create(&threads[2], 0, get, 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
}
