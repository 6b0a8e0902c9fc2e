// check: --memory rc11
// flags: -std=c++20
// verdict: bug
// finding: assertion detail=assert
// executions: 4
// check: --memory rc11
// flags: -std=c++17
// verdict: verified
// executions: 3

// A relaxed store of the thread that released the flag goes on with the release sequence before C++20, and ends
// it since. The reader reads one of three stores of the flag; behind the last one it may miss the message only in
// C++20.
#include <atomic>
#include <cassert>
#include <thread>

static std::atomic<int> message, flag;

int main() {
    std::thread reader([] {
        if (flag.load(std::memory_order_acquire) == 2)
            assert(message.load(std::memory_order_relaxed) == 1);
    });
    message.store(1, std::memory_order_relaxed);
    flag.store(1, std::memory_order_release);
    flag.store(2, std::memory_order_relaxed);
    reader.join();
    return 0;
}
