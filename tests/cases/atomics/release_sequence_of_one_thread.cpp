// compilers: gcc clang
// check:
// verdict: bug
// findings: at-least
// finding: data-race var=x
// check:
// flags: -std=c++17
// verdict: verified

// Since C++20 a relaxed store ends the release sequence, even if its own thread began that. Before, it did
// not, as in C.
#include <atomic>
#include <thread>

static int x;
static std::atomic<int> y;

int main()
{
    std::thread writer([] {
        x = 1;
        y.store(1, std::memory_order_release);
        y.store(2, std::memory_order_relaxed);
    });
    int seen = 0;
    if (y.load(std::memory_order_acquire) == 2)
        seen = x;
    writer.join();
    return seen > 1;
}
