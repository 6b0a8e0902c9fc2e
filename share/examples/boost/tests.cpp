// Two test cases: raddle gives each a verdict of its own.
#define BOOST_TEST_MODULE counter
#include <boost/test/included/unit_test.hpp>

#include <atomic>
#include <mutex>
#include <thread>

BOOST_AUTO_TEST_SUITE(counting)

BOOST_AUTO_TEST_CASE(with_a_lock) {
    int counter = 0;
    std::mutex lock;
    auto count = [&] {
        std::lock_guard<std::mutex> guard(lock);
        counter++;
    };
    std::thread one(count), two(count);
    one.join();
    two.join();
    BOOST_TEST(counter == 2);
}

// No race, but under some schedules both threads read before either writes.
BOOST_AUTO_TEST_CASE(loses_updates) {
    std::atomic<int> counter{0};
    auto count = [&] { counter.store(counter.load() + 1); };
    std::thread one(count), two(count);
    one.join();
    two.join();
    BOOST_TEST(counter.load() == 2);
}

BOOST_AUTO_TEST_SUITE_END()
