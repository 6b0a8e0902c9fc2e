// compilers: gcc clang
// check: --strategy stateful
// flags: -O0
// verdict: bug
// finding: assertion line=37
// check: --strategy stateful
// flags: -O1
// verdict: bug
// finding: assertion line=37
// check: --strategy stateful
// flags: -O2
// verdict: bug
// finding: assertion line=37
//
// A field is read through a pointer before it is written again: between, it is alive, although the
// function that owns the object only writes it. Two states differ in nothing else.
#include <assert.h>
#include <pthread.h>

struct pair {
  int first, second;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static int x;

static void *set(void *arg) {
  pthread_mutex_lock(&lock);
  x = 1;
  pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&other);
  pthread_mutex_unlock(&other);
  return arg;
}

__attribute__((noinline)) static void look(struct pair *pair) {
  assert(pair->second == 0);
}

__attribute__((noinline)) static void clear(struct pair *pair) { pair->first = 0; }

static void *get(void *arg) {
  struct pair pair;
  clear(&pair);
  pthread_mutex_lock(&lock);
  pair.second = x;
  pthread_mutex_unlock(&lock);
  for (int round = 0; round < 2; round++) {
    pthread_mutex_lock(&other);
    pthread_mutex_unlock(&other);
    look(&pair);
    pair.second = 0;
  }
  return arg;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], 0, get, 0);
  pthread_create(&threads[1], 0, set, 0);
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
}
