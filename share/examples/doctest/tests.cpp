// Two test cases: raddle gives each a verdict of its own.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <atomic>
#include <mutex>
#include <thread>

TEST_CASE("with a lock") {
    int counter = 0;
    std::mutex lock;
    auto count = [&] {
        std::lock_guard<std::mutex> guard(lock);
        counter++;
    };
    std::thread one(count), two(count);
    one.join();
    two.join();
    REQUIRE(counter == 2);
}

// No race, but under some schedules both threads read before either writes.
TEST_CASE("loses updates, sometimes") {
    std::atomic<int> counter{0};
    auto count = [&] { counter.store(counter.load() + 1); };
    std::thread one(count), two(count);
    one.join();
    two.join();
    CHECK(counter.load() == 2);
}
