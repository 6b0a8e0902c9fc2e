// Threads transfer money between three accounts under the locks of both, in a fixed order.
#include <cassert>
#include <mutex>
#include <thread>
#include <vector>

#ifndef N
#define N 6
#endif

struct Account {
  std::mutex lock;
  int balance = 100;
};

int main() {
  Account accounts[3];
  std::vector<std::thread> threads;
  for (int i = 0; i < N; i++) {
    threads.emplace_back([&, i] {
      int from = i % 3, to = (i + 1) % 3;
      Account &low = accounts[from < to ? from : to], &high = accounts[from < to ? to : from];
      std::lock_guard<std::mutex> first(low.lock);
      std::lock_guard<std::mutex> second(high.lock);
      accounts[from].balance -= 1;
      accounts[to].balance += 1;
    });
  }
  for (auto &thread : threads) thread.join();
  assert(accounts[0].balance + accounts[1].balance + accounts[2].balance == 300);
}
