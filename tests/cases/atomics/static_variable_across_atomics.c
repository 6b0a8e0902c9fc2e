// compilers: gcc clang
// check:
// flags: -O1
// verdict: verified
// check:
// flags: -O2
// verdict: verified
// check:
// flags: -O3
// verdict: verified
//
// Another thread changes a static variable between two atomic operations. The compiler must not keep its
// value across them.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int asked, answered;
static int value;

static void *answer(void *arg) {
  while (!atomic_load(&asked)) {
  }
  value++;
  atomic_store(&answered, 1);
  return arg;
}

int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, answer, 0);
  value = 1;
  atomic_store(&asked, 1);
  while (!atomic_load(&answered)) {
  }
  assert(value == 2);
  pthread_join(thread, 0);
}
