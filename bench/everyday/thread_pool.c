// A pool of WORKERS with a list of jobs, a condition variable and an orderly end; main submits JOBS.
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef JOBS
#define JOBS 5
#endif

struct job {
  int number;
  struct job *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t available = PTHREAD_COND_INITIALIZER;
static struct job *first, *last;
static int is_closed, done;

static void *work(void *arg) {
  pthread_mutex_lock(&lock);
  for (;;) {
    while (!first && !is_closed) pthread_cond_wait(&available, &lock);
    struct job *job = first;
    if (!job) break;
    first = job->next;
    if (!first) last = 0;
    pthread_mutex_unlock(&lock);
    int number = job->number;
    free(job);
    pthread_mutex_lock(&lock);
    done += number;
  }
  pthread_mutex_unlock(&lock);
  return arg;
}

static void submit(int number) {
  struct job *job = malloc(sizeof *job);
  job->number = number;
  job->next = 0;
  pthread_mutex_lock(&lock);
  if (last) last->next = job; else first = job;
  last = job;
  pthread_cond_signal(&available);
  pthread_mutex_unlock(&lock);
}

int main(void) {
  pthread_t threads[WORKERS];
  for (int i = 0; i < WORKERS; i++) pthread_create(&threads[i], 0, work, 0);
  for (int number = 1; number <= JOBS; number++) submit(number);
  pthread_mutex_lock(&lock);
  is_closed = 1;
  pthread_cond_broadcast(&available);
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < WORKERS; i++) pthread_join(threads[i], 0);
  assert(done == JOBS * (JOBS + 1) / 2);
}
