// Three tests: raddle gives each a verdict of its own.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>

TEST(Counter, WithLock) {
    int counter = 0;
    std::mutex lock;
    auto count = [&] {
        std::lock_guard<std::mutex> guard(lock);
        counter++;
    };
    std::thread one(count), two(count);
    one.join();
    two.join();
    EXPECT_EQ(counter, 2);
}

TEST(Counter, WithoutLock) {
    int counter = 0;
    auto count = [&] { counter++; };
    std::thread one(count), two(count);
    one.join();
    two.join();
}

// No race, but under some schedules both threads read before either writes.
TEST(Counter, LosesUpdates) {
    std::atomic<int> counter{0};
    auto count = [&] { counter.store(counter.load() + 1); };
    std::thread one(count), two(count);
    one.join();
    two.join();
    EXPECT_EQ(counter.load(), 2);
}
