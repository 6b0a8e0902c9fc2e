// N threads insert one key each into a hash table with chains, under one mutex.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#ifndef N
#define N 8
#endif
#define BUCKETS 4

struct entry {
  int key;
  struct entry *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *table[BUCKETS];
static int count;

static void *insert(void *arg) {
  int key = (int)(intptr_t)arg;
  struct entry *entry = malloc(sizeof *entry);
  entry->key = key;
  pthread_mutex_lock(&lock);
  entry->next = table[key % BUCKETS];
  table[key % BUCKETS] = entry;
  count++;
  pthread_mutex_unlock(&lock);
  return 0;
}

int main(void) {
  pthread_t threads[N];
  for (intptr_t i = 0; i < N; i++) pthread_create(&threads[i], 0, insert, (void *)i);
  for (int i = 0; i < N; i++) pthread_join(threads[i], 0);
  int found = 0;
  for (int bucket = 0; bucket < BUCKETS; bucket++) {
    while (table[bucket]) {
      struct entry *first = table[bucket];
      table[bucket] = first->next;
      free(first);
      found++;
    }
  }
  assert(found == N && count == N);
}
