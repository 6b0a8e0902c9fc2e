// Three stages with a one-place queue between two of them; ITEMS items go through.
#include <assert.h>
#include <pthread.h>

#ifndef ITEMS
#define ITEMS 4
#endif

struct queue {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int value, is_full;
};

#define QUEUE {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0}
static struct queue raw = QUEUE, cooked = QUEUE;
static int total;

static void put(struct queue *queue, int value) {
  pthread_mutex_lock(&queue->lock);
  while (queue->is_full) pthread_cond_wait(&queue->changed, &queue->lock);
  queue->value = value;
  queue->is_full = 1;
  pthread_cond_broadcast(&queue->changed);
  pthread_mutex_unlock(&queue->lock);
}

static int take(struct queue *queue) {
  pthread_mutex_lock(&queue->lock);
  while (!queue->is_full) pthread_cond_wait(&queue->changed, &queue->lock);
  int value = queue->value;
  queue->is_full = 0;
  pthread_cond_broadcast(&queue->changed);
  pthread_mutex_unlock(&queue->lock);
  return value;
}

static void *read_items(void *arg) {
  for (int item = 1; item <= ITEMS; item++) put(&raw, item);
  return arg;
}

static void *cook(void *arg) {
  for (int item = 0; item < ITEMS; item++) put(&cooked, 2 * take(&raw));
  return arg;
}

static void *collect(void *arg) {
  for (int item = 0; item < ITEMS; item++) total += take(&cooked);
  return arg;
}

int main(void) {
  pthread_t threads[3];
  pthread_create(&threads[0], 0, read_items, 0);
  pthread_create(&threads[1], 0, cook, 0);
  pthread_create(&threads[2], 0, collect, 0);
  for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
  assert(total == ITEMS * (ITEMS + 1));
}
