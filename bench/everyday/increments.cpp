// Threads with locked increments of one counter, in C++.
#include <cassert>
#include <mutex>
#include <thread>
#include <vector>

#ifndef N
#define N 3
#endif
#ifndef ROUNDS
#define ROUNDS 5
#endif

int main() {
  std::mutex lock;
  int counter = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < N; i++) {
    threads.emplace_back([&] {
      for (int round = 0; round < ROUNDS; round++) {
        std::lock_guard<std::mutex> guard(lock);
        counter++;
      }
    });
  }
  for (auto &thread : threads) thread.join();
  assert(counter == N * ROUNDS);
}
