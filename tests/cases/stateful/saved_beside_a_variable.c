// compilers: gcc clang
// check: --strategy stateful
// flags: -O0
// verdict: bug
// finding: assertion line=54
// check: --strategy stateful
// flags: -O1
// verdict: bug
// finding: assertion line=54
// check: --strategy stateful
// flags: -O2
// verdict: bug
// finding: assertion line=54
//
// A function saves a value of its caller beside a variable whose address it passes on. The value is
// no part of the variable, and the caller needs it.
#include <assert.h>
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static int x;
static volatile int zero;

static void *set(void *arg) {
  pthread_mutex_lock(&lock);
  x = 1;
  pthread_mutex_unlock(&lock);
  pthread_mutex_lock(&other);
  pthread_mutex_unlock(&other);
  return arg;
}

__attribute__((noinline)) static void count(int *sum, int more) {
  *sum += more + zero;
}

__attribute__((noinline)) static int busy(int a, int b) {
  int sum = a, c = b + zero, d = a * b + zero;
  pthread_mutex_lock(&other);
  count(&sum, c);
  pthread_mutex_unlock(&other);
  count(&sum, d);
  return sum;
}

// Ends with a call of a function of another module, which returns to the caller.
__attribute__((noinline)) static int last(int a) {
  pthread_mutex_lock(&other);
  zero = a;
  return pthread_mutex_unlock(&other);
}

static void judge(int seen, int rest) {
  assert(seen + rest == 0);
}

static void *get(void *arg) {
  pthread_mutex_lock(&lock);
  int seen = x;
  pthread_mutex_unlock(&lock);
  int rest = busy(zero, zero);
  rest += last(zero);
  judge(seen, rest);
  return arg;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], 0, get, 0);
  pthread_create(&threads[1], 0, set, 0);
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
}
