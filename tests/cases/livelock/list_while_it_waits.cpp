// compilers: gcc
// check:
// verdict: verified
// most-runs: 20
// flags: -O0
// check:
// verdict: verified
// most-runs: 20
// flags: -O2

// In each round the thread fills a list, and empties it again.
#include <atomic>
#include <cassert>
#include <list>
#include <thread>

static std::atomic<bool> done{false};
static int value;

int main()
{
    std::thread waiter([] {
        std::list<int> all;
        while (!done.load()) {
            all.push_back(1);
            all.push_back(2);
            all.clear();
        }
        assert(value == 42);
    });
    value = 42;
    done.store(true);
    waiter.join();
}
