// N threads write a line each to a log under one mutex; the stream is only ever appended to.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#ifndef N
#define N 5
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int lines;

static void *work(void *arg) {
  pthread_mutex_lock(&lock);
  printf("thread %d\n", (int)(intptr_t)arg);
  lines++;
  pthread_mutex_unlock(&lock);
  return 0;
}

int main(void) {
  pthread_t threads[N];
  for (intptr_t i = 0; i < N; i++) pthread_create(&threads[i], 0, work, (void *)i);
  for (int i = 0; i < N; i++) pthread_join(threads[i], 0);
  return lines == N ? 0 : 1;
}
