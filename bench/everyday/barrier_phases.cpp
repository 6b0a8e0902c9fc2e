// Threads go through phases that a barrier of mutex and condition variable separates.
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#ifndef N
#define N 5
#endif
#ifndef PHASES
#define PHASES 3
#endif

class Barrier {
 public:
  explicit Barrier(int size) : size_(size) {}
  void wait() {
    std::unique_lock<std::mutex> guard(lock_);
    int round = round_;
    if (++arrived_ == size_) {
      arrived_ = 0;
      round_++;
      all_.notify_all();
      return;
    }
    all_.wait(guard, [&] { return round_ != round; });
  }

 private:
  int size_, arrived_ = 0, round_ = 0;
  std::mutex lock_;
  std::condition_variable all_;
};

int main() {
  Barrier barrier(N);
  std::vector<std::vector<int>> values(2, std::vector<int>(N));
  std::vector<std::thread> threads;
  for (int own = 0; own < N; own++) {
    threads.emplace_back([&, own] {
      for (int phase = 0; phase < PHASES; phase++) {
        int now = phase % 2;
        values[1 - now][own] = values[now][(own + 1) % N] + 1;
        barrier.wait();
      }
    });
  }
  for (auto &thread : threads) thread.join();
  for (int own = 0; own < N; own++) assert(values[PHASES % 2][own] == PHASES);
}
