// compilers: gcc clang
// check:
// verdict: bug
// finding: assertion detail=assert line=25

// `x = x + 1` on an atomic is two operations, `x++` is one.
#include <atomic>
#include <cassert>
#include <thread>

std::atomic<int> good, bad;

void work()
{
    good++;
    bad = bad + 1;
}

int main()
{
    std::thread a(work), b(work);
    a.join();
    b.join();
    assert(good == 2);
    assert(bad == 2);
}
