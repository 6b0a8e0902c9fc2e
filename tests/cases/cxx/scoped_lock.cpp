// compilers: gcc clang
// check: --max-executions 3000
// verdict: incomplete
// check:
// flags: -DSAME
// verdict: verified
// executions: 4

// std::scoped_lock takes two mutexes in opposite orders without deadlock: who finds the second one taken gives the first back and
// tries again. Both can do that again and again, so that there is no end of orders.
//
// In the same order there are four: either comes first, and the other finds the second mutex still taken, since the first one is given
// back first, or free.
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
