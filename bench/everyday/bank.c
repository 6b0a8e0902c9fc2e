// N threads transfer money between three accounts, each of which has a lock; locks are ordered.
#include <assert.h>
#include <pthread.h>
#include <stdint.h>

#ifndef N
#define N 6
#endif
#define ACCOUNTS 3

struct account {
  pthread_mutex_t lock;
  int balance;
};

static struct account accounts[ACCOUNTS];

static void transfer(int from, int to, int amount) {
  int low = from < to ? from : to, high = from < to ? to : from;
  pthread_mutex_lock(&accounts[low].lock);
  pthread_mutex_lock(&accounts[high].lock);
  accounts[from].balance -= amount;
  accounts[to].balance += amount;
  pthread_mutex_unlock(&accounts[high].lock);
  pthread_mutex_unlock(&accounts[low].lock);
}

static void *work(void *arg) {
  int own = (int)(intptr_t)arg;
  transfer(own % ACCOUNTS, (own + 1) % ACCOUNTS, 1);
  return 0;
}

int main(void) {
  pthread_t threads[N];
  for (int i = 0; i < ACCOUNTS; i++) {
    pthread_mutex_init(&accounts[i].lock, 0);
    accounts[i].balance = 100;
  }
  for (intptr_t i = 0; i < N; i++) pthread_create(&threads[i], 0, work, (void *)i);
  for (int i = 0; i < N; i++) pthread_join(threads[i], 0);
  int sum = 0;
  for (int i = 0; i < ACCOUNTS; i++) sum += accounts[i].balance;
  assert(sum == 100 * ACCOUNTS);
}
