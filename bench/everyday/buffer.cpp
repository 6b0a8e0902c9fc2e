// A bounded buffer as a class template: two producers and two consumers with ITEMS items each.
#include <cassert>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#ifndef ITEMS
#define ITEMS 3
#endif

template <typename T>
class BoundedBuffer {
 public:
  explicit BoundedBuffer(size_t limit) : limit_(limit) {}
  void put(T value) {
    std::unique_lock<std::mutex> guard(lock_);
    not_full_.wait(guard, [this] { return items_.size() < limit_; });
    items_.push_back(std::move(value));
    not_empty_.notify_one();
  }
  T take() {
    std::unique_lock<std::mutex> guard(lock_);
    not_empty_.wait(guard, [this] { return !items_.empty(); });
    T value = std::move(items_.front());
    items_.pop_front();
    not_full_.notify_one();
    return value;
  }

 private:
  size_t limit_;
  std::mutex lock_;
  std::condition_variable not_full_, not_empty_;
  std::deque<T> items_;
};

int main() {
  BoundedBuffer<int> buffer(2);
  int sums[2] = {0, 0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; i++) {
    threads.emplace_back([&] {
      for (int item = 1; item <= ITEMS; item++) buffer.put(item);
    });
    threads.emplace_back([&, i] {
      for (int item = 0; item < ITEMS; item++) sums[i] += buffer.take();
    });
  }
  for (auto &thread : threads) thread.join();
  assert(sums[0] + sums[1] == ITEMS * (ITEMS + 1));
}
