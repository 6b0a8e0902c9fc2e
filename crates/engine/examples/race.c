#include <pthread.h>
static int counter;
static void *add(void *unused) { counter = counter + 1; return unused; }
int main(void) {
  pthread_t one, two;
  pthread_create(&one, 0, add, 0);
  pthread_create(&two, 0, add, 0);
  pthread_join(one, 0);
  pthread_join(two, 0);
  return 0;
}
