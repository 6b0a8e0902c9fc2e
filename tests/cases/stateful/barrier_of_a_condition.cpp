// compilers: gcc
// check: --strategy stateful
// flags: -O0
// verdict: verified
// most-runs: 70
// check: --strategy stateful
// flags: -O2
// verdict: verified
// most-runs: 70
//
// Threads go through two phases that a barrier separates. Where a thread waits, what it has counted
// lies in registers that functions have saved. At -O2 one of them ends with a jump to another module.
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

constexpr int THREADS = 3;

class Barrier {
 public:
  void wait() {
    std::unique_lock<std::mutex> guard(lock_);
    int round = round_;
    if (++arrived_ == THREADS) {
      arrived_ = 0;
      round_++;
      all_.notify_all();
      return;
    }
    all_.wait(guard, [&] { return round_ != round; });
  }

 private:
  int arrived_ = 0, round_ = 0;
  std::mutex lock_;
  std::condition_variable all_;
};

int main() {
  Barrier barrier;
  std::vector<int> values(THREADS);
  std::vector<std::thread> threads;
  for (int own = 0; own < THREADS; own++) {
    threads.emplace_back([&, own] {
      values[own] = 1;
      barrier.wait();
      assert(values[(own + 1) % THREADS] == 1);
      barrier.wait();
    });
  }
  for (auto &thread : threads) thread.join();
}
