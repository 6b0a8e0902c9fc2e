// Threads with a slot of their own in a vector that one mutex protects.
#include <cassert>
#include <mutex>
#include <thread>
#include <vector>

#ifndef N
#define N 9
#endif

int main() {
  std::mutex lock;
  std::vector<int> slots(N);
  std::vector<std::thread> threads;
  for (int i = 0; i < N; i++) {
    threads.emplace_back([&, i] {
      std::lock_guard<std::mutex> guard(lock);
      slots[i] = i + 1;
    });
  }
  for (auto &thread : threads) thread.join();
  for (int i = 0; i < N; i++) assert(slots[i] == i + 1);
}
