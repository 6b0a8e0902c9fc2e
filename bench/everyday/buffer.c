// A bounded buffer with two condition variables: PRODUCERS and CONSUMERS with ITEMS items each.
#include <assert.h>
#include <pthread.h>

#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef CONSUMERS
#define CONSUMERS 2
#endif
#ifndef ITEMS
#define ITEMS 3
#endif
#define SLOTS 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;
static int slots[SLOTS];
static int head, count, sum;

static void *produce(void *arg) {
  for (int item = 1; item <= ITEMS; item++) {
    pthread_mutex_lock(&lock);
    while (count == SLOTS) pthread_cond_wait(&not_full, &lock);
    slots[(head + count) % SLOTS] = item;
    count++;
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&lock);
  }
  return arg;
}

static void *consume(void *arg) {
  for (int item = 0; item < ITEMS * PRODUCERS / CONSUMERS; item++) {
    pthread_mutex_lock(&lock);
    while (count == 0) pthread_cond_wait(&not_empty, &lock);
    sum += slots[head];
    head = (head + 1) % SLOTS;
    count--;
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&lock);
  }
  return arg;
}

int main(void) {
  pthread_t threads[PRODUCERS + CONSUMERS];
  for (int i = 0; i < PRODUCERS; i++) pthread_create(&threads[i], 0, produce, 0);
  for (int i = 0; i < CONSUMERS; i++) pthread_create(&threads[PRODUCERS + i], 0, consume, 0);
  for (int i = 0; i < PRODUCERS + CONSUMERS; i++) pthread_join(threads[i], 0);
  assert(sum == PRODUCERS * ITEMS * (ITEMS + 1) / 2);
}
