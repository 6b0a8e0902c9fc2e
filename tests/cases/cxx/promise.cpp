// check:
// verdict: verified

// A promise fulfilled in a thread; an exception passed through another.
#include <cassert>
#include <future>
#include <stdexcept>
#include <thread>

int main()
{
    std::promise<int> good, bad;
    auto value = good.get_future();
    auto error = bad.get_future();
    std::thread t([&] {
        good.set_value(7);
        try {
            throw std::runtime_error("broken");
        } catch (...) {
            bad.set_exception(std::current_exception());
        }
    });
    assert(value.get() == 7);
    bool caught = false;
    try {
        error.get();
    } catch (const std::runtime_error &) {
        caught = true;
    }
    assert(caught);
    t.join();
}
