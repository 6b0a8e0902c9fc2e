// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -DNO_NOTIFY
// verdict: bug
// finding: deadlock

// A lock made of std::atomic_flag, as reference manuals show it; and without the call that wakes
// the next.
#include <atomic>
#include <cassert>
#include <thread>

std::atomic_flag taken;
int counter;

void add()
{
    while (taken.test_and_set(std::memory_order_acquire))
        taken.wait(true, std::memory_order_relaxed);
    counter++;
    taken.clear(std::memory_order_release);
#ifndef NO_NOTIFY
    taken.notify_one();
#endif
}

int main()
{
    std::thread a(add), b(add);
    a.join();
    b.join();
    assert(counter == 2);
}
