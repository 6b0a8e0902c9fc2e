// Two test cases: raddle gives each a verdict of its own.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include <atomic>
#include <mutex>
#include <thread>

TEST_CASE("with a lock", "[counter]") {
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
TEST_CASE("loses updates, sometimes", "[counter]") {
    std::atomic<int> counter{0};
    auto count = [&] { counter.store(counter.load() + 1); };
    std::thread one(count), two(count);
    one.join();
    two.join();
    CHECK(counter.load() == 2);
}
