// compilers: gcc clang
// flags: -O2
// check:
// verdict: bug
// executions: 3
// finding: assertion detail=assert

// The second try succeeds where the first did not: tries are distinguished, although each polls
// many times without success.
//
// The release comes before the first try, between the two, or after the second.
#include <cassert>
#include <semaphore>
#include <thread>

std::binary_semaphore item(0);

int main()
{
    std::thread supplier([] { item.release(); });
    bool first = item.try_acquire();
    bool second = item.try_acquire();
    assert(first || !second);
    supplier.join();
}
