// Threads insert one key each into a std::unordered_map under one mutex.
#include <cassert>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#ifndef N
#define N 8
#endif

int main() {
  std::mutex lock;
  std::unordered_map<int, int> table;
  std::vector<std::thread> threads;
  for (int i = 0; i < N; i++) {
    threads.emplace_back([&, i] {
      std::lock_guard<std::mutex> guard(lock);
      table[i] = i * i;
    });
  }
  for (auto &thread : threads) thread.join();
  assert(table.size() == N);
  for (int i = 0; i < N; i++) assert(table.at(i) == i * i);
}
