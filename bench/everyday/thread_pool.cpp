// A thread pool with std::function jobs; main submits JOBS and closes it.
#include <cassert>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef JOBS
#define JOBS 5
#endif

class ThreadPool {
 public:
  explicit ThreadPool(int workers) {
    for (int i = 0; i < workers; i++) workers_.emplace_back([this] { work(); });
  }
  void submit(std::function<void()> job) {
    {
      std::lock_guard<std::mutex> guard(lock_);
      jobs_.push(std::move(job));
    }
    available_.notify_one();
  }
  void close() {
    {
      std::lock_guard<std::mutex> guard(lock_);
      is_closed_ = true;
    }
    available_.notify_all();
    for (auto &worker : workers_) worker.join();
  }

 private:
  void work() {
    for (;;) {
      std::function<void()> job;
      {
        std::unique_lock<std::mutex> guard(lock_);
        available_.wait(guard, [this] { return is_closed_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        job = std::move(jobs_.front());
        jobs_.pop();
      }
      job();
    }
  }

  std::mutex lock_;
  std::condition_variable available_;
  std::queue<std::function<void()>> jobs_;
  bool is_closed_ = false;
  std::vector<std::thread> workers_;
};

int main() {
  int results[JOBS] = {};
  ThreadPool pool(WORKERS);
  for (int i = 0; i < JOBS; i++) pool.submit([&results, i] { results[i] = i + 1; });
  pool.close();
  for (int i = 0; i < JOBS; i++) assert(results[i] == i + 1);
}
