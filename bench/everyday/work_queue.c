// WORKERS take ITEMS from one queue until it is empty.
#include <assert.h>
#include <pthread.h>

#ifndef WORKERS
#define WORKERS 4
#endif
#ifndef ITEMS
#define ITEMS 8
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next;
static int results[ITEMS];

static void *work(void *arg) {
  for (;;) {
    pthread_mutex_lock(&lock);
    int item = next < ITEMS ? next++ : -1;
    pthread_mutex_unlock(&lock);
    if (item < 0) return arg;
    results[item] = item * item;
  }
}

int main(void) {
  pthread_t threads[WORKERS];
  for (int i = 0; i < WORKERS; i++) pthread_create(&threads[i], 0, work, 0);
  for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], 0);
  for (int i = 0; i < ITEMS; i++) assert(results[i] == i * i);
}
