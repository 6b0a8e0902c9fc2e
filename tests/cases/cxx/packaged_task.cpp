// compilers: gcc clang
// check:
// verdict: verified

// std::packaged_task: its result, or its exception, reaches the thread that asks for it.
#include <cassert>
#include <future>
#include <stdexcept>
#include <thread>

int main()
{
    std::packaged_task<int(int)> twice([](int x) { return 2 * x; });
    std::packaged_task<int()> fails([]() -> int { throw std::runtime_error("no"); });
    auto result = twice.get_future();
    auto failure = fails.get_future();
    std::thread a(std::move(twice), 21), b(std::move(fails));
    assert(result.get() == 42);
    bool caught = false;
    try {
        failure.get();
    } catch (const std::runtime_error &) {
        caught = true;
    }
    assert(caught);
    a.join();
    b.join();
}
