// compilers: gcc clang
// check: --strategy stateful
// flags: -O0
// verdict: bug
// finding: assertion line=51
// check: --strategy stateful
// flags: -O1
// verdict: bug
// finding: assertion line=51
// check: --strategy stateful
// flags: -O2
// verdict: bug
// finding: assertion line=51
//
// A value that only a caller's caller needs: functions below have saved it in their frames, and one
// has it among its arguments on the stack.
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

__attribute__((noinline)) static int pass(void) {
  pthread_mutex_lock(&other);
  pthread_mutex_unlock(&other);
  return zero;
}

__attribute__((noinline)) static int busy(int a, int b) {
  int c = a + zero, d = b + zero, e = a * b + zero;
  int f = pass();
  return c + d + e + f;
}

__attribute__((noinline)) static int many(int a, int b, int c, int d, int e, int f, int g, int h) {
  int i = pass();
  return a + b + c + d + e + f + g + h + i;
}

__attribute__((noinline)) static void judge(int seen) {
  assert(seen == 0);
}

static void *get(void *arg) {
  pthread_mutex_lock(&lock);
  int seen = x;
  pthread_mutex_unlock(&lock);
  int sum = busy(zero, zero);
  sum += many(zero, zero, zero, zero, zero, zero, seen, pass());
  judge(sum);
  return arg;
}

int main(void) {
  pthread_t threads[2];
  pthread_create(&threads[0], 0, get, 0);
  pthread_create(&threads[1], 0, set, 0);
  pthread_join(threads[0], 0);
  pthread_join(threads[1], 0);
}
