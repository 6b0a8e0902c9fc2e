// Workers take items from a std::queue until it is empty.
#include <cassert>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#ifndef WORKERS
#define WORKERS 4
#endif
#ifndef ITEMS
#define ITEMS 8
#endif

int main() {
  std::mutex lock;
  std::queue<int> queue;
  std::vector<int> results(ITEMS);
  for (int i = 0; i < ITEMS; i++) queue.push(i);
  std::vector<std::thread> threads;
  for (int i = 0; i < WORKERS; i++) {
    threads.emplace_back([&] {
      for (;;) {
        int item;
        {
          std::lock_guard<std::mutex> guard(lock);
          if (queue.empty()) return;
          item = queue.front();
          queue.pop();
        }
        results[item] = item * item;
      }
    });
  }
  for (auto &thread : threads) thread.join();
  for (int i = 0; i < ITEMS; i++) assert(results[i] == i * i);
}
