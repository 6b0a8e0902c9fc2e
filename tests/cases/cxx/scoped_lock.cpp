// compilers: gcc clang
// check:
// verdict: verified
// check:
// flags: -DSAME
// verdict: verified
// executions: 4

// std::scoped_lock acquires two mutexes in opposite orders without deadlock: a thread that finds
// the second one locked releases the first and tries again. Both can do that again and again. A
// round that returns to an earlier state makes no progress, and orders that continue from there are
// left out.
//
// In the same order there are four executions: either thread comes first. The other finds the
// second mutex still locked, because the first one is released first, or free.
#include <cassert>
#include <mutex>
#include <thread>

std::mutex p, q;
int x;

int main()
{
    std::thread a([] {
        std::scoped_lock both(p, q);
        x++;
    });
    std::thread b([] {
#ifdef SAME
        std::scoped_lock both(p, q);
#else
        std::scoped_lock both(q, p);
#endif
        x++;
    });
    a.join();
    b.join();
    assert(x == 2);
}
