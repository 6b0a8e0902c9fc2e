// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion detail=exception

// An exception leaves a thread if the other came first.
#include <atomic>
#include <stdexcept>
#include <thread>

std::atomic<int> place;

int main()
{
    std::thread a([] { place.fetch_add(1); });
    std::thread b([] {
        if (place.fetch_add(1) == 1)
            throw std::runtime_error("too late");
    });
    a.join();
    b.join();
}
