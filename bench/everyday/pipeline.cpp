// Three stages with queues between them; ITEMS items go through.
#include <cassert>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#ifndef ITEMS
#define ITEMS 4
#endif

class Place {
 public:
  void put(int value) {
    std::unique_lock<std::mutex> guard(lock_);
    changed_.wait(guard, [this] { return !value_; });
    value_ = value;
    changed_.notify_all();
  }
  int take() {
    std::unique_lock<std::mutex> guard(lock_);
    changed_.wait(guard, [this] { return value_.has_value(); });
    int value = *value_;
    value_.reset();
    changed_.notify_all();
    return value;
  }

 private:
  std::mutex lock_;
  std::condition_variable changed_;
  std::optional<int> value_;
};

int main() {
  Place raw, cooked;
  int total = 0;
  std::thread reader([&] {
    for (int item = 1; item <= ITEMS; item++) raw.put(item);
  });
  std::thread cook([&] {
    for (int item = 0; item < ITEMS; item++) cooked.put(2 * raw.take());
  });
  std::thread collector([&] {
    for (int item = 0; item < ITEMS; item++) total += cooked.take();
  });
  reader.join();
  cook.join();
  collector.join();
  assert(total == ITEMS * (ITEMS + 1));
}
