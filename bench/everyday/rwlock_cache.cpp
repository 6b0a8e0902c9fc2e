// Threads look a value up under a shared lock, and compute it under the exclusive one if missing.
#include <cassert>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#ifndef N
#define N 6
#endif

class Cache {
 public:
  int look_up(int key) {
    {
      std::shared_lock<std::shared_mutex> guard(lock_);
      auto found = values_.find(key);
      if (found != values_.end()) return found->second;
    }
    std::unique_lock<std::shared_mutex> guard(lock_);
    return values_.try_emplace(key, 10 + key).first->second;
  }

 private:
  std::shared_mutex lock_;
  std::map<int, int> values_;
};

int main() {
  Cache cache;
  std::vector<std::thread> threads;
  for (int i = 0; i < N; i++) {
    threads.emplace_back([&, i] { assert(cache.look_up(i % 2) == 10 + i % 2); });
  }
  for (auto &thread : threads) thread.join();
}
